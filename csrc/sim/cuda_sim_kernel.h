/* Kernels of the simulated driver: host code that stands for device code.
 *
 * The simulated driver loads plug-ins, shared libraries that export
 * cuda_sim_find_kernel, and asks them for a kernel by the name that
 * cuModuleGetFunction was given. A kernel that no plug-in knows is one that the
 * simulated driver cannot launch.
 */

#ifndef KVSWAP_SIM_CUDA_SIM_KERNEL_H_
#define KVSWAP_SIM_CUDA_SIM_KERNEL_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One launch, when it runs. */
typedef struct cuda_sim_launch {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;  /* dynamic shared memory */
  const void* parameters; /* the driver's own copy, parameter_bytes long */
  /* Where the host finds the memory that the device has at `address`, for
   * reading or, with `writes` 1, for writing; `*size` is how many bytes from
   * there on lie in one piece. Valid until `run` returns.
   * NULL: the kernel may not touch that address. Then it must touch nothing
   * more and return; the launch ends as on a GPU, with
   * CUDA_ERROR_ILLEGAL_ADDRESS. */
  void* (*reach)(void* context, uint64_t address, int writes, size_t* size);
  /* Ends the launch with a CUresult, for what a GPU would stop at beside wrong
   * addresses. `why` is reported. The kernel must return then. */
  void (*fail)(void* context, int code, const char* why);
  void* context; /* for both */
} cuda_sim_launch;

typedef struct cuda_sim_kernel {
  size_t parameter_bytes;     /* of its one parameter */
  unsigned max_threads;       /* of a block */
  unsigned max_shared_bytes;  /* dynamic, at most */
  int min_compute_capability; /* as 90 for 9.0 */
  void (*run)(const cuda_sim_launch* launch);
} cuda_sim_kernel;

/* What a plug-in exports: the kernel of a name, NULL where it has none. */
const cuda_sim_kernel* cuda_sim_find_kernel(const char* name);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* KVSWAP_SIM_CUDA_SIM_KERNEL_H_ */
