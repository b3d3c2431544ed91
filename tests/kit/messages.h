// Predicates for BOOST_CHECK_EXCEPTION that read messages.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <vector>

namespace weft::testing {

/// True for an exception whose message contains every part; prints the message where it does not.
std::function<bool(const std::exception&)> message_contains(std::vector<std::string> parts);

/// The same for one part.
std::function<bool(const std::exception&)> says(std::string part);

}  // namespace weft::testing
