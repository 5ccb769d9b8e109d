#include "csrc/driver/library.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>

#include <cerrno>
#include <new>

namespace kvswap::driver {
namespace {

// In the order tried. The second is where WSL keeps the driver's library,
// outside the loader's default path in some containers.
constexpr const char* kDefaultNames[] = {
    "libcuda.so.1",
    "/usr/lib/wsl/lib/libcuda.so.1",
};

std::string FileBehind(void* handle) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return "";
  return map->l_name;
}

bool Try(const char* name, const char* origin, Library* library) {
  errno = 0;
  library->handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  // Says nothing about the library, which the next call may well find. The
  // loader's own text does not always tell.
  if (library->handle == nullptr && errno == ENOMEM) throw std::bad_alloc();
  library->tried.append(name).append(origin).append(": ");
  if (library->handle == nullptr) {
    const char* why = dlerror();
    library->tried.append(why != nullptr ? why : "not loadable").append("\n");
    return false;
  }
  library->path = FileBehind(library->handle);
  library->tried.append("loaded\n");
  return true;
}

}  // namespace

Library OpenDriverLibrary() {
  Library library;
  const char* override_path = secure_getenv(kLibraryVariable);
  if (override_path != nullptr && override_path[0] != '\0') {
    library.variable = override_path;
    Try(override_path, " (from KVSWAP_LIBCUDA)", &library);
    return library;
  }
  for (const char* name : kDefaultNames) {
    if (Try(name, "", &library)) break;
  }
  return library;
}

}  // namespace kvswap::driver
