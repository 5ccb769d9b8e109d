// Stands for torch's libtorch_cuda.so in tests: current streams that a test
// sets, with the functions that libkvswap_torch.so looks up there.

#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((__visibility__("default")))
#define DEVICES 4

enum { SUCCESS = 0, FAILURE = 1 };

// Set by the test.
EXPORT int32_t fake_device_count = 0;
EXPORT void* fake_streams[DEVICES] = {NULL};
EXPORT int32_t fake_current_device = 0;
EXPORT int32_t (*fake_synchronize)(void* stream, int32_t device) = NULL;
// Read by the test: how often the current stream was asked for, the last
// device.
EXPORT int32_t fake_asked = 0;
EXPORT int32_t fake_asked_device = 0;

EXPORT int32_t aoti_torch_get_current_cuda_stream(int32_t device,
                                                  void** stream);
EXPORT int32_t torch_cuda_stream_synchronize(void* stream, int32_t device);

int32_t aoti_torch_get_current_cuda_stream(int32_t device, void** stream) {
  ++fake_asked;
  fake_asked_device = device;
  if (device < 0) device = fake_current_device;
  if (device >= fake_device_count) return FAILURE;
  *stream = fake_streams[device];
  return SUCCESS;
}

int32_t torch_cuda_stream_synchronize(void* stream, int32_t device) {
  return fake_synchronize == NULL ? SUCCESS : fake_synchronize(stream, device);
}
