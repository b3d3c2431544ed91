// Tests that go on after a crash, and say what crashed.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace weft::testing {

/// Runs `body`. If it ends in SIGSEGV, SIGBUS, SIGFPE or SIGILL on this thread, returns the
/// signal's name and address ("SIGSEGV at 0x7f..."); what `body` held is then lost (no destructor
/// runs), so that everything it uses should be its own. Exceptions pass through.
///
/// Where going on is not possible (a crash on another thread, or more than `cpu_seconds` of CPU
/// time), the program ends after `description` went to stderr. Not for several threads at once.
std::optional<std::string> crash_of(const std::string& description, double cpu_seconds,
                                    const std::function<void()>& body);

}  // namespace weft::testing
