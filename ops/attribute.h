// Attributes: the constants of a node. They are part of the node's identity, its text and its
// serialised form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/core/shape.h"
#include "weft/core/tensor.h"

namespace WEFT_API weft {

/// One attribute value. An int is a std::int64_t, a list of ints a std::vector<std::int64_t>. A Dim
/// or Shape may contain symbols of the graph; kernels receive them evaluated. A Tensor is a
/// constant.
using Attribute = std::variant<bool, std::int64_t, double, std::string, DType,
                               std::vector<std::int64_t>, std::vector<double>, Dim, Shape, Tensor>;

/// Returns "bool", "int", "float", "string", "dtype", "ints", "floats", "dim", "shape" or "tensor".
std::string_view attribute_type_name(const Attribute& value);

/// Equality for the identity of nodes: floats and tensors are compared by their bits.
bool identical(const Attribute& a, const Attribute& b);
/// Returns a hash that is consistent with identical().
std::size_t hash_value(const Attribute& value);

class Attributes;
// Also declared here because g++ hides a function that is declared only as a friend.
bool operator==(const Attributes& a, const Attributes& b);

/// Named attributes, ordered by name.
class Attributes {
 public:
  using Entry = std::pair<std::string, Attribute>;

  Attributes() = default;
  Attributes(std::initializer_list<Entry> entries);

  /// Adds or replaces an attribute.
  void set(std::string_view name, Attribute value);
  /// Returns null if there is no attribute of this name.
  const Attribute* find(std::string_view name) const;
  /// Returns the value. Throws ArgumentError that names the attribute if it is absent, and both
  /// types if it has another type.
  template <class T>
  const T& get(std::string_view name) const {
    if (const T* v = std::get_if<T>(&require(name))) return *v;
    wrong_type(name, attribute_type_name(Attribute(T{})));
  }
  std::int64_t integer(std::string_view name) const { return get<std::int64_t>(name); }
  double real(std::string_view name) const { return get<double>(name); }
  bool flag(std::string_view name) const { return get<bool>(name); }
  DType dtype(std::string_view name) const { return get<DType>(name); }
  const std::string& text(std::string_view name) const { return get<std::string>(name); }
  const std::vector<std::int64_t>& integers(std::string_view name) const {
    return get<std::vector<std::int64_t>>(name);
  }
  const Shape& shape(std::string_view name) const { return get<Shape>(name); }
  const Dim& dim(std::string_view name) const { return get<Dim>(name); }
  const Tensor& tensor(std::string_view name) const { return get<Tensor>(name); }

  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  std::size_t hash() const;
  friend bool operator==(const Attributes& a, const Attributes& b);

  /// Returns a copy in which every symbolic Dim and Shape is replaced by its value under
  /// `bindings`.
  Attributes evaluate(const Bindings& bindings) const;
  Attributes substitute(const std::function<std::optional<Dim>(const SymbolPtr&)>& map) const;

 private:
  const Attribute& require(std::string_view name) const;
  [[noreturn]] void wrong_type(std::string_view name, std::string_view wanted) const;

  std::vector<Entry> entries_;
};

}  // namespace weft
