// Stands for torch's libtorch_cpu.so when libkvswap_torch.so is linked; never
// loaded.
//
// torch's libraries are no inputs of the build. With the names here, a function
// that torch's stable API lacks is an error when linking, and the library needs
// libtorch_cpu.so by name: Python loads torch without making its symbols known
// to others.

#define FUNCTION(name)                                        \
  __attribute__((__visibility__("default"))) void name(void); \
  void name(void) {}

FUNCTION(aoti_torch_abi_version)
FUNCTION(aoti_torch_check)
FUNCTION(aoti_torch_delete_tensor_object)
FUNCTION(aoti_torch_device_type_cpu)
FUNCTION(aoti_torch_device_type_cuda)
FUNCTION(aoti_torch_device_type_meta)
FUNCTION(aoti_torch_dtype_element_size)
FUNCTION(aoti_torch_dtype_int64)
FUNCTION(aoti_torch_dtype_uint64)
FUNCTION(aoti_torch_get_data_ptr)
FUNCTION(aoti_torch_get_device_index)
FUNCTION(aoti_torch_get_device_type)
FUNCTION(aoti_torch_get_dim)
FUNCTION(aoti_torch_get_dtype)
FUNCTION(aoti_torch_get_layout)
FUNCTION(aoti_torch_get_numel)
FUNCTION(aoti_torch_get_sizes)
FUNCTION(aoti_torch_get_strides)
FUNCTION(aoti_torch_layout_strided)
FUNCTION(aoti_torch_library_def)
FUNCTION(aoti_torch_library_init_fragment)
FUNCTION(aoti_torch_library_init_impl)
FUNCTION(aoti_torch_new_tensor_handle)
FUNCTION(torch_call_dispatcher)
FUNCTION(torch_library_impl)
