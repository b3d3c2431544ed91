// Whether a sanitizer watches this program: AddressSanitizer or ThreadSanitizer.
#pragma once

namespace weft::testing {

/// They need the whole address space, have an allocator of their own, end a program that touches
/// memory that is not its own, and make it slow.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // g++
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)  // clang++
inline constexpr bool kSanitized =
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace weft::testing
