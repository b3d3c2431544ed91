// The result of a check.
#pragma once

#include <ostream>
#include <string>
#include <utility>

#include "weft/core/export.h"

namespace WEFT_API weft {
namespace testing {

/// Converts to true if the check passed; otherwise it holds a message. Works with any test
/// framework:
///   BOOST_TEST(expect_close(y, expected));        // prints the message
///   EXPECT_TRUE(outcome) << outcome;              // GoogleTest
///   if (!outcome) throw std::runtime_error(outcome.message());
class [[nodiscard]] Outcome {
 public:
  /// Create the outcome of a check that passed, and of a check that failed with a message.
  static Outcome pass() { return Outcome(true, {}); }
  static Outcome fail(std::string message) { return Outcome(false, std::move(message)); }

  explicit operator bool() const { return passed_; }
  /// The reason for the failure; empty if the check passed.
  const std::string& message() const { return message_; }

  friend std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
    return out << (outcome.passed_ ? "passed" : outcome.message_);
  }

 private:
  Outcome(bool passed, std::string message) : passed_(passed), message_(std::move(message)) {}

  bool passed_;
  std::string message_;
};

}  // namespace testing
}  // namespace weft
