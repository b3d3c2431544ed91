#include "weft/serialization/gguf/metadata.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"

namespace weft {
namespace {

// The C++ types that get() returns: the elements, their description in messages, and the stored
// elements that they are read from.
template <class T>
struct Wanted {
  using Element = T;
  static constexpr bool kIsArray = false;
};
template <class T>
struct Wanted<std::vector<T>> {
  using Element = T;
  static constexpr bool kIsArray = true;
};

template <class T>
std::string_view described() {
  if constexpr (std::same_as<T, bool>) return "a bool";
  if constexpr (std::same_as<T, std::int64_t>) return "an integer";
  if constexpr (std::same_as<T, double>) return "a number";
  return "a string";
}

/// Returns true if elements of `type` can be read as T.
template <class T>
bool is_readable_as(GgufType type) {
  const bool is_float = type == GgufType::f32 || type == GgufType::f64;
  if constexpr (std::same_as<T, bool>) return type == GgufType::boolean;
  if constexpr (std::same_as<T, std::string>) return type == GgufType::string;
  const bool is_integer = !is_float && type != GgufType::boolean && type != GgufType::string;
  return is_integer || (std::same_as<T, double> && is_float);
}

}  // namespace

std::string_view gguf_type_name(GgufType type) {
  constexpr std::string_view kNames[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                         "bool", "string", "array", "u64", "i64", "f64"};
  return kNames[static_cast<std::size_t>(type)];
}

std::string GgufValue::type_str() const {
  if (!is_array_) return std::string(gguf_type_name(type_));
  return fmt::format("an array of {} {}{}", size(), gguf_type_name(type_),
                     type_ == GgufType::string ? "s" : "");
}

const GgufMetadata::Entry* GgufMetadata::find_entry(std::string_view key) const {
  const auto found = index_.find(key);
  return found == index_.end() ? nullptr : &entries_[found->second];
}

GgufMetadata& GgufMetadata::set(std::string_view key, GgufValue value, std::uint64_t offset) {
  const auto [at, added] = index_.emplace(key, entries_.size());
  if (added) {
    entries_.push_back({std::string(key), std::move(value), offset});
  } else {
    entries_[at->second].value = std::move(value);
  }
  return *this;
}

void GgufMetadata::fail(std::string_view key, std::string_view problem) const {
  const Entry* entry = find_entry(key);
  const std::string place = path_.empty() ? "the metadata" : fmt::format("\"{}\"", path_);
  const std::string at =
      entry == nullptr || entry->offset == 0 ? "" : fmt::format(" at byte {}", entry->offset);
  throw FormatError(fmt::format("{}{}: {} {}", place, at, excerpt(key), problem));
}

template <class T>
T GgufMetadata::get(std::string_view key) const {
  using Element = typename Wanted<T>::Element;
  constexpr bool kIsArray = Wanted<T>::kIsArray;
  const Entry* const entry = find_entry(key);
  if (entry == nullptr) fail(key, "is missing");
  const GgufValue& value = entry->value;
  if (!is_readable_as<Element>(value.type()) || (value.is_array() && !kIsArray)) {
    fail(key, fmt::format("is {}{}, but must be {}{}", value.is_array() ? "" : "of type ",
                          value.type_str(), described<Element>(),
                          kIsArray ? ", or an array of these" : ""));
  }
  return std::visit(
      [&](const auto& items) -> T {
        using Stored = typename std::decay_t<decltype(items)>::value_type;
        if constexpr (std::same_as<Stored, std::string> != std::same_as<Element, std::string>) {
          throw StateError("a metadata value has items of another type");
        } else {
          const auto converted = [&](const Stored& item) -> Element {
            if constexpr (std::same_as<Stored, std::int64_t>) {
              if (value.type() == GgufType::u64 && item < 0) {
                if constexpr (std::same_as<Element, double>)
                  return static_cast<double>(static_cast<std::uint64_t>(item));
                fail(key,
                     fmt::format("is {}, which is too large", static_cast<std::uint64_t>(item)));
              }
            }
            if constexpr (std::same_as<Element, std::string>) {
              return item;
            } else {
              return static_cast<Element>(item);
            }
          };
          if constexpr (kIsArray) {
            T result;
            result.reserve(items.size());
            for (const Stored& item : items) result.push_back(converted(item));
            return result;
          } else {
            return converted(items.front());
          }
        }
      },
      value.items());
}

template std::int64_t GgufMetadata::get(std::string_view) const;
template double GgufMetadata::get(std::string_view) const;
template bool GgufMetadata::get(std::string_view) const;
template std::string GgufMetadata::get(std::string_view) const;
template std::vector<std::int64_t> GgufMetadata::get(std::string_view) const;
template std::vector<double> GgufMetadata::get(std::string_view) const;
template std::vector<bool> GgufMetadata::get(std::string_view) const;
template std::vector<std::string> GgufMetadata::get(std::string_view) const;

}  // namespace weft
