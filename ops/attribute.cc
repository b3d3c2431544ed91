#include "weft/ops/attribute.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "weft/core/error.h"

namespace weft {
namespace {

constexpr std::string_view kTypeNames[] = {"bool", "int",    "float", "string", "dtype",
                                           "ints", "floats", "dim",   "shape",  "tensor"};

std::size_t mix(std::size_t seed, std::size_t value) {
  return seed ^ (value + 0x9E3779B97F4A7C15ull + (seed << 6) + (seed >> 2));
}

struct Hasher {
  std::size_t operator()(bool v) const { return v ? 3 : 7; }
  std::size_t operator()(std::int64_t v) const { return std::hash<std::int64_t>{}(v); }
  std::size_t operator()(double v) const {
    return std::hash<std::uint64_t>{}(std::bit_cast<std::uint64_t>(v));
  }
  std::size_t operator()(const std::string& v) const { return std::hash<std::string>{}(v); }
  std::size_t operator()(DType v) const { return static_cast<std::size_t>(v); }
  std::size_t operator()(const std::vector<std::int64_t>& v) const {
    std::size_t h = v.size();
    for (auto x : v) h = mix(h, (*this)(x));
    return h;
  }
  std::size_t operator()(const std::vector<double>& v) const {
    std::size_t h = v.size();
    for (auto x : v) h = mix(h, (*this)(x));
    return h;
  }
  std::size_t operator()(const Dim& v) const { return v.hash(); }
  std::size_t operator()(const Shape& v) const { return v.hash(); }
  std::size_t operator()(const Tensor& v) const {
    if (!v.defined()) return 0;
    std::size_t h = mix(static_cast<std::size_t>(v.dtype()), (*this)(v.sizes()));
    const std::string_view bytes(reinterpret_cast<const char*>(v.raw()), v.bytes());
    // Hashing a prefix distributes hash values well enough. Equality still compares every byte.
    return mix(h, std::hash<std::string_view>{}(bytes.substr(0, 256)));
  }
};

}  // namespace

std::string_view attribute_type_name(const Attribute& value) { return kTypeNames[value.index()]; }

std::size_t hash_value(const Attribute& value) {
  return mix(value.index(), std::visit(Hasher{}, value));
}

bool identical(const Attribute& a, const Attribute& b) {
  if (a.index() != b.index()) return false;
  if (const double* x = std::get_if<double>(&a)) {
    return std::bit_cast<std::uint64_t>(*x) == std::bit_cast<std::uint64_t>(std::get<double>(b));
  }
  if (const auto* x = std::get_if<std::vector<double>>(&a)) {
    const auto& y = std::get<std::vector<double>>(b);
    return x->size() == y.size() &&
           (x->empty() || std::memcmp(x->data(), y.data(), x->size() * sizeof(double)) == 0);
  }
  if (const Tensor* x = std::get_if<Tensor>(&a)) {
    const Tensor& y = std::get<Tensor>(b);
    if (!x->defined() || !y.defined()) return x->defined() == y.defined();
    return bitwise_equal(*x, y);
  }
  return std::visit(
      [&b]<class T>(const T& x) -> bool {
        if constexpr (std::is_same_v<T, Tensor>) {
          return false;  // handled above
        } else {
          return x == std::get<T>(b);
        }
      },
      a);
}

Attributes::Attributes(std::initializer_list<Entry> entries) {
  for (const Entry& e : entries) set(e.first, e.second);
}

void Attributes::set(std::string_view name, Attribute value) {
  auto it = std::lower_bound(entries_.begin(), entries_.end(), name,
                             [](const Entry& e, std::string_view n) { return e.first < n; });
  if (it != entries_.end() && it->first == name) {
    it->second = std::move(value);
  } else {
    entries_.insert(it, {std::string(name), std::move(value)});
  }
}

const Attribute* Attributes::find(std::string_view name) const {
  auto it = std::lower_bound(entries_.begin(), entries_.end(), name,
                             [](const Entry& e, std::string_view n) { return e.first < n; });
  return it != entries_.end() && it->first == name ? &it->second : nullptr;
}

const Attribute& Attributes::require(std::string_view name) const {
  if (const Attribute* v = find(name)) return *v;
  throw ArgumentError(fmt::format("attribute '{}' is missing", name));
}

void Attributes::wrong_type(std::string_view name, std::string_view wanted) const {
  throw ArgumentError(fmt::format("attribute '{}' is a {}, but must be a {}", name,
                                  attribute_type_name(require(name)), wanted));
}

std::size_t Attributes::hash() const {
  std::size_t h = entries_.size();
  for (const Entry& e : entries_) h = mix(mix(h, Hasher{}(e.first)), hash_value(e.second));
  return h;
}

bool operator==(const Attributes& a, const Attributes& b) {
  return std::equal(a.entries_.begin(), a.entries_.end(), b.entries_.begin(), b.entries_.end(),
                    [](const Attributes::Entry& x, const Attributes::Entry& y) {
                      return x.first == y.first && identical(x.second, y.second);
                    });
}

Attributes Attributes::evaluate(const Bindings& bindings) const {
  Attributes result = *this;
  for (Entry& e : result.entries_) {
    if (const Dim* d = std::get_if<Dim>(&e.second)) {
      e.second = Dim(d->evaluate(bindings));
    } else if (const Shape* s = std::get_if<Shape>(&e.second)) {
      e.second = Shape(s->evaluate(bindings));
    }
  }
  return result;
}

Attributes Attributes::substitute(
    const std::function<std::optional<Dim>(const SymbolPtr&)>& map) const {
  Attributes result = *this;
  for (Entry& e : result.entries_) {
    if (const Dim* d = std::get_if<Dim>(&e.second)) {
      e.second = d->substitute(map);
    } else if (const Shape* s = std::get_if<Shape>(&e.second)) {
      e.second = s->substitute(map);
    }
  }
  return result;
}

}  // namespace weft
