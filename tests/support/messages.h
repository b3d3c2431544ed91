// Predicates for BOOST_CHECK_EXCEPTION that check messages.
#pragma once

#include <boost/test/unit_test.hpp>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace weft::testing {

/// Returns true if the message of an exception contains every part; otherwise prints the message
/// and returns false.
std::function<bool(const std::exception&)> message_contains(std::vector<std::string> parts);

/// As above, for a single part.
std::function<bool(const std::exception&)> says(std::string part);

/// Returns true if an exception has exactly this message; otherwise prints the exception's message
/// and returns false.
std::function<bool(const std::exception&)> says_exactly(std::string message);

/// Checks that `build` throws an E whose message contains every part.
template <class E, class F>
void check_error(F build, std::vector<std::string> parts) {
  BOOST_CHECK_EXCEPTION(build(), E, message_contains(std::move(parts)));
}

}  // namespace weft::testing
