// What other programs and libraries may use: the rest of a shared library's symbols are hidden.
#pragma once

/// On `namespace weft` in every header that is installed, or that a layer above uses:
///     namespace WEFT_API weft {
/// Everything declared there is visible outside of the shared library, types with their run-time
/// type information (so that an exception thrown inside is caught outside). All else is compiled
/// with -fvisibility=hidden by g++; libraries that clang++ builds show everything.
#if defined(__GNUC__)
#define WEFT_API [[gnu::visibility("default")]]
/// On what such a header only declares (the insides of a class).
#define WEFT_HIDDEN [[gnu::visibility("hidden")]]
#else
#define WEFT_API
#define WEFT_HIDDEN
#endif
