// Attributes are the constants of a node. They are part of the node's identity, of its text and of
// its serialised form.
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

/// One attribute value. An int is stored as std::int64_t, and a list of ints as
/// std::vector<std::int64_t>. A Dim or Shape may contain symbols of the graph; kernels receive the
/// evaluated values. A Tensor is a constant.
using Attribute = std::variant<bool, std::int64_t, double, std::string, DType,
                               std::vector<std::int64_t>, std::vector<double>, Dim, Shape, Tensor>;

/// Returns "bool", "int", "float", "string", "dtype", "ints", "floats", "dim", "shape" or "tensor".
std::string_view attribute_type_name(const Attribute& value);

/// Returns true if the values are equal for the purpose of node identity: floats and tensors are
/// compared bitwise.
bool identical(const Attribute& a, const Attribute& b);
/// Returns a hash that is consistent with identical().
std::size_t hash_value(const Attribute& value);

class Attributes;
// Also declared here: g++ gives hidden visibility to functions declared only as friends.
bool operator==(const Attributes& a, const Attributes& b);

/// A set of named attributes, ordered by name.
class Attributes {
 public:
  using Entry = std::pair<std::string, Attribute>;

  Attributes() = default;
  Attributes(std::initializer_list<Entry> entries);

  /// Adds or replaces an attribute.
  void set(std::string_view name, Attribute value);
  /// Returns the attribute with this name, or null if there is none.
  const Attribute* find(std::string_view name) const;
  /// Returns the value of an attribute. Throws ArgumentError if the attribute is absent (the
  /// message names it) or has a different type (the message names both types).
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
