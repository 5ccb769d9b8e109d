# kvswap's C ABI for CMake: find_package(kvswap CONFIG) defines kvswap::kvswap.
#
# The package is where `python -c "import kvswap; print(kvswap.get_cmake_dir())"` says:
# pass it as kvswap_DIR or in CMAKE_PREFIX_PATH.

get_filename_component(_kvswap_package "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)

if(NOT TARGET kvswap::kvswap)
  add_library(kvswap::kvswap SHARED IMPORTED)
  set_target_properties(
    kvswap::kvswap
    PROPERTIES
      IMPORTED_LOCATION "${_kvswap_package}/libkvswap.so"
      IMPORTED_SONAME "libkvswap.so"
      INTERFACE_INCLUDE_DIRECTORIES "${_kvswap_package}/include"
  )
endif()

unset(_kvswap_package)
