// Symbol visibility: only marked declarations are exported from a shared library.
#pragma once

/// Marks `namespace weft` in every header that is installed or used by a higher layer:
///     namespace WEFT_API weft {
/// Everything declared in such a namespace block is exported from the shared library. Types are
/// exported with their run-time type information, so that callers can catch exceptions thrown
/// inside the library. g++ compiles everything else with -fvisibility=hidden; libraries built by
/// clang++ export all symbols.
#if defined(__GNUC__)
#define WEFT_API [[gnu::visibility("default")]]
#else
#define WEFT_API
#endif
