#include "weft/models/serve/http/protocol/api_error.h"

#include <new>

#include "weft/models/serve/errors.h"
#include "weft/models/serve/http/protocol/json_fields.h"

namespace weft {
namespace {

std::string type_of(int status) {
  if (status == 401) return "authentication_error";
  if (status == 429) return "rate_limit_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

}  // namespace

std::string ApiError::body() const {
  const auto or_null = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  return json_text({{"error",
                     {{"message", what()},
                      {"type", type_of(status_)},
                      {"param", or_null(param_)},
                      {"code", or_null(code_)}}}});
}

ApiError api_error(const std::exception_ptr& error, bool accepted) {
  try {
    std::rethrow_exception(error);
  } catch (const ApiError& e) {
    return e;
  } catch (const QueueFullError& e) {
    return {429, e.what(), "queue_full"};
  } catch (const DeadlineError& e) {
    return {504, e.what(), "timeout"};
  } catch (const Error& e) {
    const bool invalid = !accepted && (dynamic_cast<const ArgumentError*>(&e) != nullptr ||
                                       dynamic_cast<const FormatError*>(&e) != nullptr ||
                                       dynamic_cast<const DataError*>(&e) != nullptr);
    return {invalid ? 400 : 500, e.what(), invalid ? "invalid_value" : ""};
  } catch (const std::bad_alloc&) {
    return {503, "the server has too little memory for this request: send fewer or shorter texts",
            "out_of_memory"};
  } catch (const std::exception& e) {
    return {500, e.what()};
  }
}

}  // namespace weft
