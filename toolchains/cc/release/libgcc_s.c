// Stands for libgcc_s.so.1 when a release is linked; never loaded.
//
// A process has one unwinder, libgcc_s: Python, libstdc++ and the C library
// (when it ends a thread) use it. Code that brings another one would be handed
// unwinder states that it cannot read. So libc++abi, which is linked into
// kvswap's libraries, takes its unwinder from there.
//
// Names: the unwinder of the Itanium C++ ABI, as far as libc++abi and the
// compiler call it. Versions, in libgcc_s.map: those of GCC's own library.

#define FUNCTION(name) \
  void name(void);     \
  void name(void) {}

FUNCTION(_Unwind_Backtrace)
FUNCTION(_Unwind_DeleteException)
FUNCTION(_Unwind_ForcedUnwind)
FUNCTION(_Unwind_GetCFA)
FUNCTION(_Unwind_GetGR)
FUNCTION(_Unwind_GetIP)
FUNCTION(_Unwind_GetIPInfo)
FUNCTION(_Unwind_GetLanguageSpecificData)
FUNCTION(_Unwind_GetRegionStart)
FUNCTION(_Unwind_RaiseException)
FUNCTION(_Unwind_Resume)
FUNCTION(_Unwind_Resume_or_Rethrow)
FUNCTION(_Unwind_SetGR)
FUNCTION(_Unwind_SetIP)
