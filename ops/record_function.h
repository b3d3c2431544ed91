// The type of the functions in an op record. Built-in records contain plain functions; records
// created from user functions contain functions with captures.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "weft/core/export.h"

namespace WEFT_API weft {

template <class Signature>
class RecordFunction;

/// A function, or null. Immutable and cheap to copy. Copies share their captures, so calls, which
/// may be made concurrently from several threads, must not modify them. A function without captures
/// is stored as a plain pointer, which adds no code, whereas std::function would add code in each
/// of several hundred places.
template <class Result, class... Arguments>
class RecordFunction<Result(Arguments...)> {
 public:
  using Plain = Result (*)(Arguments...);

  RecordFunction() = default;
  RecordFunction(std::nullptr_t) {}               // NOLINT(google-explicit-constructor)
  RecordFunction(Plain plain) : plain_(plain) {}  // NOLINT(google-explicit-constructor)
  template <class F>
  requires(!std::same_as<std::remove_cvref_t<F>, RecordFunction> &&
           !std::same_as<std::remove_cvref_t<F>, std::nullptr_t>)
      // NOLINTNEXTLINE(google-explicit-constructor,bugprone-forwarding-reference-overload)
      RecordFunction(F&& function) {
    if constexpr (std::is_convertible_v<F, Plain>) {
      plain_ = function;
    } else {
      // An empty std::function becomes null instead of a function that throws when it is called.
      if constexpr (std::is_constructible_v<bool, const std::remove_cvref_t<F>&>) {
        if (!static_cast<bool>(function)) return;
      }
      captured_ =
          std::make_shared<const std::function<Result(Arguments...)>>(std::forward<F>(function));
    }
  }

  Result operator()(Arguments... arguments) const {
    return plain_ != nullptr ? plain_(std::forward<Arguments>(arguments)...)
                             : (*captured_)(std::forward<Arguments>(arguments)...);
  }
  explicit operator bool() const { return plain_ != nullptr || captured_ != nullptr; }
  friend bool operator==(const RecordFunction& f, std::nullptr_t) { return !f; }

 private:
  Plain plain_ = nullptr;
  std::shared_ptr<const std::function<Result(Arguments...)>> captured_;
};

}  // namespace weft
