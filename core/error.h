// The exceptions of Weft. A message says what was wrong, where, and what would be right.
#pragma once

#include <stdexcept>
#include <string>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Base of everything that Weft throws on purpose.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  /// Throws an error of the same dynamic type whose message is `message`. Lets an outer layer add
  /// what it knows (op, operand types, the user's line) without losing the type.
  [[noreturn]] virtual void rethrow_as(const std::string& message) const { throw Error(message); }
};

/// Implements rethrow_as for one class per kind of mistake, so that callers catch what they can
/// handle.
template <class Self>
class ErrorOf : public Error {
 public:
  using Error::Error;
  [[noreturn]] void rethrow_as(const std::string& message) const override { throw Self(message); }
};

/// Sizes that do not fit each other, or dims that cannot be proven equal.
class ShapeError : public ErrorOf<ShapeError> {
 public:
  using ErrorOf::ErrorOf;
};
/// Element types that do not fit.
class DTypeError : public ErrorOf<DTypeError> {
 public:
  using ErrorOf::ErrorOf;
};
/// A missing, unknown or illegal attribute, option or argument.
class ArgumentError : public ErrorOf<ArgumentError> {
 public:
  using ErrorOf::ErrorOf;
};
/// A graph or program used wrongly: a foreign Value, an unknown name, a second update of a
/// variable.
class GraphError : public ErrorOf<GraphError> {
 public:
  using ErrorOf::ErrorOf;
};
/// No gradient can be made: missing rule, unreachable parameter, non-scalar loss.
class GradientError : public ErrorOf<GradientError> {
 public:
  using ErrorOf::ErrorOf;
};
/// Values that break a precondition at run time: an index out of range, a cache overflow.
class DataError : public ErrorOf<DataError> {
 public:
  using ErrorOf::ErrorOf;
};
/// A Session or store used in a way its state forbids: two threads in one Session, a torn state.
class StateError : public ErrorOf<StateError> {
 public:
  using ErrorOf::ErrorOf;
};
/// A file or text whose content is malformed; the message has the byte offset or line.
class FormatError : public ErrorOf<FormatError> {
 public:
  using ErrorOf::ErrorOf;
};
/// The operating system refused to read or write; the message has the path and the reason.
class IoError : public ErrorOf<IoError> {
 public:
  using ErrorOf::ErrorOf;
};
/// A rank of a world that works together is lost or has failed: every rank that is left throws
/// this, with the line that names the rank, its host, what it did and when.
class WorldError : public ErrorOf<WorldError> {
 public:
  using ErrorOf::ErrorOf;
};
/// The run was cancelled by its callback before anything was written.
class CancelledError : public ErrorOf<CancelledError> {
 public:
  using ErrorOf::ErrorOf;
};

}  // namespace weft
