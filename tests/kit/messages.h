// Predicates for BOOST_CHECK_EXCEPTION that read messages.
#pragma once

#include <boost/test/unit_test.hpp>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace weft::testing {

/// True for an exception whose message contains every part; prints the message where it does not.
std::function<bool(const std::exception&)> message_contains(std::vector<std::string> parts);

/// The same for one part.
std::function<bool(const std::exception&)> says(std::string part);

/// True for an exception with this message; prints the one it has otherwise.
std::function<bool(const std::exception&)> says_exactly(std::string message);

/// `build` throws an E whose message contains every part.
template <class E, class F>
void check_error(F build, std::vector<std::string> parts) {
  BOOST_CHECK_EXCEPTION(build(), E, message_contains(std::move(parts)));
}

}  // namespace weft::testing
