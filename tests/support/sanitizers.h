// Detects builds with AddressSanitizer or ThreadSanitizer.
#pragma once

namespace weft::testing {

/// Sanitizers need the whole address space, have their own allocator, abort on invalid memory
/// accesses, and make programs slow.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // g++
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)  // clang++
inline constexpr bool kSanitized =
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace weft::testing
