#include "weft/tests/support/messages.h"

#include <fmt/core.h>

#include <utility>

namespace weft::testing {

std::function<bool(const std::exception&)> message_contains(std::vector<std::string> parts) {
  return [parts = std::move(parts)](const std::exception& error) {
    const std::string text = error.what();
    bool all = true;
    for (const std::string& part : parts) {
      if (text.find(part) != std::string::npos) continue;
      all = false;
      fmt::print(stderr, "the message lacks '{}':\n{}\n", part, text);
    }
    return all;
  };
}

std::function<bool(const std::exception&)> says(std::string part) {
  return message_contains({std::move(part)});
}

std::function<bool(const std::exception&)> says_exactly(std::string message) {
  return [message = std::move(message)](const std::exception& error) {
    const bool same = error.what() == message;
    if (!same) fmt::print(stderr, "the message is not '{}':\n{}\n", message, error.what());
    return same;
  };
}

}  // namespace weft::testing
