// Finds the CUDA driver's library.

#ifndef KVSWAP_DRIVER_LIBRARY_H_
#define KVSWAP_DRIVER_LIBRARY_H_

#include <string>

namespace kvswap::driver {

// The environment variable that names the driver's library. Where it is set,
// nothing else is tried: a path, or a name that the loader searches for.
// Ignored in set-user-ID and set-group-ID programs, as the loader ignores
// LD_LIBRARY_PATH.
inline constexpr char kLibraryVariable[] = "KVSWAP_LIBCUDA";

// A loaded library, or the report of why there is none. Never unloaded: the
// driver keeps threads and exit handlers of its own.
struct Library {
  void* handle = nullptr;  // as from dlopen; null: none was found
  std::string path;        // the file behind `handle`
  std::string tried;       // a line for each name tried: the name, the outcome
  // What kLibraryVariable says; empty: it was not looked at or says nothing.
  std::string variable;
};

// May throw std::bad_alloc.
Library OpenDriverLibrary();

}  // namespace kvswap::driver

#endif  // KVSWAP_DRIVER_LIBRARY_H_
