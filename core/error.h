// The exceptions of Weft. A message says what was wrong, where, and what would be right.
#pragma once

#include <stdexcept>
#include <string>

namespace weft {

/// Base of everything that Weft throws on purpose.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  /// Throws an error of the same dynamic type whose message is `message`. Lets an outer layer add
  /// what it knows (op, operand types, the user's line) without losing the type.
  [[noreturn]] virtual void rethrow_as(const std::string& message) const { throw Error(message); }
};

// One class per kind of mistake, so that callers can catch what they can handle.
#define WEFT_DEFINE_ERROR(Name)                                               \
  class Name : public Error {                                                 \
   public:                                                                    \
    using Error::Error;                                                       \
    [[noreturn]] void rethrow_as(const std::string& message) const override { \
      throw Name(message);                                                    \
    }                                                                         \
  }

/// Sizes that do not fit each other, or dims that cannot be proven equal.
WEFT_DEFINE_ERROR(ShapeError);
/// Element types that do not fit.
WEFT_DEFINE_ERROR(DTypeError);
/// A missing, unknown or illegal attribute, option or argument.
WEFT_DEFINE_ERROR(ArgumentError);
/// A graph or program used wrongly: a foreign Value, an unknown name, a second update of a variable.
WEFT_DEFINE_ERROR(GraphError);
/// No gradient can be made: missing rule, unreachable parameter, non-scalar loss.
WEFT_DEFINE_ERROR(GradientError);
/// Values that break a precondition at run time: an index out of range, a cache overflow.
WEFT_DEFINE_ERROR(DataError);
/// A Session or store used in a way its state forbids: two threads in one Session, a torn state.
WEFT_DEFINE_ERROR(StateError);
/// A file or text whose content is malformed; the message has the byte offset or line.
WEFT_DEFINE_ERROR(FormatError);
/// The operating system refused to read or write; the message has the path and the reason.
WEFT_DEFINE_ERROR(IoError);
/// The run was cancelled by its callback before anything was written.
WEFT_DEFINE_ERROR(CancelledError);

#undef WEFT_DEFINE_ERROR

}  // namespace weft
