// What statements of graph text are made of: types, sizes, numbers, attributes, tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "weft/core/error.h"
#include "weft/core/tensor.h"
#include "weft/graph/ir/graph.h"
#include "weft/graph/text/scanner.h"
#include "weft/graph/text/text.h"

namespace WEFT_API weft {

/// Reads them with a scanner. What is wrong is a FormatError with line and column.
class Terms {
 public:
  /// Both must outlive it. Of the options the constants are used.
  Terms(Scanner& scan, const ParseOptions& options) : scan_(scan), options_(options) {}

  /// Runs `build`; what the graph finds wrong becomes an error at `position`.
  template <class F>
  auto guard(std::size_t position, F&& build) {
    try {
      return build();
    } catch (const FormatError&) {
      throw;
    } catch (const Error& e) {
      fail_as_here(position, e);
    }
  }

  /// Symbols of types, shapes and dims are those that `g` has declared. A dim ends before one of
  /// `stops`.
  ValueType type(Graph& g);
  DType dtype();
  Shape shape(Graph& g);
  Dim dim(Graph& g, std::string_view stops);

  double real();
  /// Within [low, high].
  std::int64_t whole(std::int64_t low, std::int64_t high);

  /// Whether a dtype with a shape comes next: no op has "[" behind its name.
  bool at_tensor();
  /// "f32[2] {1, 2}", or "f32[2] constant NAME".
  Tensor tensor(Graph& g);
  /// The value of the attribute `name` of an op, of the kind of `like`.
  Attribute attribute(Graph& g, const Attribute& like, const OpRecord& op, std::string_view name);

 private:
  [[noreturn]] void fail_as_here(std::size_t position, const Error& error) const;
  Tensor named_constant(const ValueType& type, const Sizes& sizes);
  template <class F>
  void each(F&& element);

  Scanner& scan_;
  const ParseOptions& options_;
};

}  // namespace weft
