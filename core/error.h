// The exceptions of Weft. Every message names the problem, its location and a remedy.
#pragma once

#include <stdexcept>
#include <string>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Base class of all exceptions that Weft throws deliberately.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  /// Throws an error of the same dynamic type with the message `message`. An outer layer can
  /// thereby add context (op, operand types, the user's line) without losing the type.
  [[noreturn]] virtual void rethrow_as(const std::string& message) const { throw Error(message); }
};

/// Implements rethrow_as() for the derived class `Self`. Each kind of mistake has its own class, so
/// that callers can catch the kinds they can handle.
template <class Self>
class ErrorOf : public Error {
 public:
  using Error::Error;
  [[noreturn]] void rethrow_as(const std::string& message) const override { throw Self(message); }
};

/// Sizes that do not match each other, or dims that cannot be proven equal.
class ShapeError : public ErrorOf<ShapeError> {
 public:
  using ErrorOf::ErrorOf;
};
/// Element types that do not match or are not accepted.
class DTypeError : public ErrorOf<DTypeError> {
 public:
  using ErrorOf::ErrorOf;
};
/// A missing, unknown or invalid attribute, option or argument.
class ArgumentError : public ErrorOf<ArgumentError> {
 public:
  using ErrorOf::ErrorOf;
};
/// Invalid use of a graph or program: a Value of another graph, an unknown name, a second update of
/// a variable.
class GraphError : public ErrorOf<GraphError> {
 public:
  using ErrorOf::ErrorOf;
};
/// No gradient can be computed: missing rule, unreachable parameter, non-scalar loss.
class GradientError : public ErrorOf<GradientError> {
 public:
  using ErrorOf::ErrorOf;
};
/// Values that violate a precondition at run time: an index out of range, a cache overflow.
class DataError : public ErrorOf<DataError> {
 public:
  using ErrorOf::ErrorOf;
};
/// A Session, store or buffer used in a way that its state forbids: two threads in one Session, a
/// partially written state, a write to read-only memory.
class StateError : public ErrorOf<StateError> {
 public:
  using ErrorOf::ErrorOf;
};
/// A file or text with malformed content; the message contains the byte offset or line.
class FormatError : public ErrorOf<FormatError> {
 public:
  using ErrorOf::ErrorOf;
};
/// A read or write that failed in the operating system; the message contains the path and the
/// reason.
class IoError : public ErrorOf<IoError> {
 public:
  using ErrorOf::ErrorOf;
};
/// A rank of a distributed run is lost or has failed. All remaining ranks throw this with the same
/// line, which names the rank, its host, its phase and when that phase began.
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
