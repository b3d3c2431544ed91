// Exception types thrown by Weft. Every message names the problem, its location and a remedy.
#pragma once

#include <stdexcept>
#include <string>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Base class of all exceptions that Weft throws deliberately.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  /// Throws an error of the same dynamic type with a different message. This allows outer layers to
  /// add context (op, operand types, source line) without losing the type.
  [[noreturn]] virtual void rethrow_as(const std::string& message) const { throw Error(message); }
};

/// Implements rethrow_as() for the derived class `Self`. Each category of error has its own class,
/// so that callers can catch only the categories they can handle.
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
/// Invalid use of a graph or program: a Value that belongs to another graph, an unknown name, a
/// second update of a variable.
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
/// A Session, store or buffer is used in a way that its state does not allow: two threads in one
/// Session, a partially written state, a write to read-only memory.
class StateError : public ErrorOf<StateError> {
 public:
  using ErrorOf::ErrorOf;
};
/// A file or text with malformed content; the message contains the byte offset or line.
class FormatError : public ErrorOf<FormatError> {
 public:
  using ErrorOf::ErrorOf;
};
/// A failed read or write; the message contains the path and the reason given by the operating
/// system.
class IoError : public ErrorOf<IoError> {
 public:
  using ErrorOf::ErrorOf;
};
/// A rank of a distributed run is lost or has failed. All remaining ranks throw this exception with
/// the same message, which names the rank, its host, its phase and when that phase began.
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
