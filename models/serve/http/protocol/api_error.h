// Errors that clients of the server receive: a status code and OpenAI's error object.
#pragma once

#include <exception>
#include <string>

#include "weft/core/error.h"

namespace weft {

/// An error with an HTTP status.
class ApiError : public Error {
 public:
  /// `code` is a short name for programs, such as "model_not_found"; `param` is the field of the
  /// request that is wrong. Both may be empty.
  ApiError(int status, const std::string& message, std::string code = {}, std::string param = {})
      : Error(message), status_(status), code_(std::move(code)), param_(std::move(param)) {}

  int status() const { return status_; }
  const std::string& code() const { return code_; }
  const std::string& param() const { return param_; }
  /// Returns {"error": {"message": ..., "type": ..., "param": ..., "code": ...}}.
  std::string body() const;

 private:
  int status_;
  std::string code_, param_;
};

/// Returns the error for clients. Errors that Weft throws for invalid requests have status 400,
/// and a full queue has status 429. After a request was accepted (`accepted`), they are errors of
/// the server: 500.
ApiError api_error(const std::exception_ptr& error, bool accepted = false);

}  // namespace weft
