#include "weft/tests/support/cases/run_outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <stdexcept>
#include <typeinfo>

namespace weft::testing {
namespace {

// Names of the exception types.
template <class Kind>
bool is(const Error& error) {
  return typeid(error) == typeid(Kind);
}
template <class Kind>
[[noreturn]] void raise(const std::string& message) {
  throw Kind(message);
}
struct KindOfError {
  const char* name;
  bool (*is)(const Error&);
  void (*raise)(const std::string&);
};
constexpr KindOfError kKinds[] = {
    {"ShapeError", is<ShapeError>, raise<ShapeError>},
    {"DTypeError", is<DTypeError>, raise<DTypeError>},
    {"ArgumentError", is<ArgumentError>, raise<ArgumentError>},
    {"GraphError", is<GraphError>, raise<GraphError>},
    {"DataError", is<DataError>, raise<DataError>},
    {"GradientError", is<GradientError>, raise<GradientError>},
    {"StateError", is<StateError>, raise<StateError>},
    {"CancelledError", is<CancelledError>, raise<CancelledError>},
    {"FormatError", is<FormatError>, raise<FormatError>},
};

}  // namespace

std::string RunOutcome::str() const {
  if (failed()) return fmt::format("{}: {}", error_kind, message);
  std::string text;
  for (const Tensor& t : results) text += (text.empty() ? "" : ", ") + t.str();
  return text;
}

void RunOutcome::rethrow() const {
  for (const KindOfError& kind : kKinds) {
    if (error_kind == kind.name) kind.raise(message);
  }
  throw std::logic_error("there is no error to throw again");
}

RunOutcome RunOutcome::core() const {
  RunOutcome result = *this;
  result.message = message.substr(0, message.find('\n'));
  const std::size_t prefix = result.message.find(": ");
  if (prefix != std::string::npos && result.message.find(' ') > prefix) {
    result.message.erase(0, prefix + 2);
  }
  return result;
}

RunOutcome outcome_of(const std::function<std::vector<Tensor>()>& body) {
  RunOutcome outcome;
  try {
    outcome.results = body();
  } catch (const Error& e) {
    const auto* const kind = std::find_if(std::begin(kKinds), std::end(kKinds),
                                          [&](const KindOfError& k) { return k.is(e); });
    outcome.error_kind = kind != std::end(kKinds) ? kind->name : "another kind of Error";
    outcome.message = e.what();
  }
  return outcome;
}

std::string difference(const Tensor& actual, const Tensor& expected, Bits bits) {
  if (!actual.defined() || !expected.defined()) {
    return actual.defined() == expected.defined() ? "" : "only one of them is defined";
  }
  if (actual.dtype() != expected.dtype() || actual.sizes() != expected.sizes()) {
    return fmt::format("{} instead of {}", actual.type_str(), expected.type_str());
  }
  if (expected.bytes() == 0 || std::memcmp(actual.raw(), expected.raw(), expected.bytes()) == 0) {
    return "";
  }
  const std::size_t size = dtype_size(expected.dtype());
  for (std::int64_t i = 0; i < expected.numel(); ++i) {
    const std::size_t at = static_cast<std::size_t>(i) * size;
    if (std::memcmp(actual.raw() + at, expected.raw() + at, size) == 0) continue;
    const double a = actual.at(i), e = expected.at(i);
    if (bits == Bits::same_but_nans && std::isnan(a) && std::isnan(e)) continue;
    return fmt::format("element {} of {} is {} instead of {}{}", i, expected.type_str(), a, e,
                       std::isnan(a) && std::isnan(e) ? " with different bits" : "");
  }
  return "";
}

std::string difference(const RunOutcome& actual, const RunOutcome& expected, Bits bits) {
  if (actual.failed() || expected.failed()) {
    if (actual.error_kind == expected.error_kind &&
        actual.message.find(expected.message) != std::string::npos) {
      return "";
    }
    return fmt::format("returns\n    {}\n  instead of\n    {}", actual.str(), expected.str());
  }
  if (actual.results.size() != expected.results.size()) {
    return fmt::format("{} outputs instead of {}", actual.results.size(), expected.results.size());
  }
  for (std::size_t o = 0; o < expected.results.size(); ++o) {
    const std::string wrong = difference(actual.results[o], expected.results[o], bits);
    if (!wrong.empty()) return fmt::format("output {}: {}", o, wrong);
  }
  return "";
}

}  // namespace weft::testing
