// The result of a check.
#pragma once

#include <ostream>
#include <string>
#include <utility>

#include "weft/core/export.h"

namespace WEFT_API weft {
namespace testing {

/// True if a check passed; otherwise it has a message. It works with any test framework:
///   BOOST_TEST(expect_close(y, expected));        // prints the message
///   EXPECT_TRUE(outcome) << outcome;              // GoogleTest
///   if (!outcome) throw std::runtime_error(outcome.message());
class [[nodiscard]] Outcome {
 public:
  /// An outcome that passed, and one that failed with a message.
  static Outcome pass() { return Outcome(true, {}); }
  static Outcome fail(std::string message) { return Outcome(false, std::move(message)); }

  explicit operator bool() const { return passed_; }
  /// The reason of the failure; empty if the check passed.
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
