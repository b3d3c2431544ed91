// Allows a test to continue after a crash, and reports what crashed.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace weft::testing {

/// Runs `body`. If it ends in SIGSEGV, SIGBUS, SIGFPE or SIGILL on this thread, returns the name of
/// the signal and the address ("SIGSEGV at 0x7f..."). No destructors run in that case, so objects
/// created by `body` are leaked, and `body` should not modify shared objects. Exceptions are passed
/// on.
///
/// If the test cannot continue (after a crash on another thread, or after more than `cpu_seconds`
/// of CPU time), prints `description` to stderr and terminates the program. Only one thread may
/// call this function at a time.
std::optional<std::string> crash_of(const std::string& description, double cpu_seconds,
                                    const std::function<void()>& body);

}  // namespace weft::testing
