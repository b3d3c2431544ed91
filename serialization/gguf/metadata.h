// Metadata of GGUF files: typed values by key.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Type of a metadata value. The numbers are part of the file format (enum gguf_type).
enum class GgufType : std::uint32_t {
  u8 = 0,
  i8 = 1,
  u16 = 2,
  i16 = 3,
  u32 = 4,
  i32 = 5,
  f32 = 6,
  boolean = 7,
  string = 8,
  array = 9,
  u64 = 10,
  i64 = 11,
  f64 = 12,
};
/// Returns, for example, "u32", "bool" or "string".
std::string_view gguf_type_name(GgufType type);

/// A number, a bool, a string, or an array of one of these types.
class GgufValue {
 public:
  /// The elements: integers and bools, floats, or strings. A u64 above the range of int64 wraps
  /// around.
  using Items =
      std::variant<std::vector<std::int64_t>, std::vector<double>, std::vector<std::string>>;

  /// Makes a value of the type that corresponds to T: bool, an integer of 8 to 64 bits, float,
  /// double, or text.
  template <class T>
  requires(std::is_arithmetic_v<T> || std::convertible_to<const T&, std::string_view>)
      GgufValue(const T& value)  // NOLINT(google-explicit-constructor): metadata.set("key", 8)
      : GgufValue(type_of<T>(), false, items_of<T>()) {
    append(value);
  }
  /// Makes an array.
  template <class T>
  GgufValue(const std::vector<T>& values)  // NOLINT(google-explicit-constructor)
      : GgufValue(type_of<T>(), true, items_of<T>()) {
    for (const T& value : values) append(value);
  }
  /// Makes a value from its parts, for readers. A value that is not an array must have one item.
  GgufValue(GgufType type, bool is_array, Items items)
      : type_(type), is_array_(is_array), items_(std::move(items)) {}

  /// Returns the type of the value or, for an array, of its elements.
  GgufType type() const { return type_; }
  bool is_array() const { return is_array_; }
  const Items& items() const { return items_; }
  std::size_t size() const {
    return std::visit([](const auto& items) { return items.size(); }, items_);
  }
  /// Returns, for example, "u32" or "an array of 3 strings".
  std::string type_str() const;

 private:
  template <class T>
  static constexpr GgufType type_of() {
    if constexpr (std::same_as<T, bool>) return GgufType::boolean;
    if constexpr (std::same_as<T, float>) return GgufType::f32;
    if constexpr (std::same_as<T, double>) return GgufType::f64;
    if constexpr (std::integral<T>) {
      constexpr GgufType kSigned[] = {GgufType::i8, GgufType::i16, GgufType::i32, GgufType::i64};
      constexpr GgufType kUnsigned[] = {GgufType::u8, GgufType::u16, GgufType::u32, GgufType::u64};
      constexpr int kIndex = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
      return std::signed_integral<T> ? kSigned[kIndex] : kUnsigned[kIndex];
    }
    return GgufType::string;
  }
  template <class T>
  static Items items_of() {
    if constexpr (std::integral<T>) return std::vector<std::int64_t>();
    if constexpr (std::floating_point<T>) return std::vector<double>();
    return std::vector<std::string>();
  }
  template <class T>
  void append(const T& value) {
    if constexpr (std::integral<T>) {
      std::get<0>(items_).push_back(static_cast<std::int64_t>(value));
    } else if constexpr (std::floating_point<T>) {
      std::get<1>(items_).push_back(value);
    } else {
      std::get<2>(items_).emplace_back(std::string_view(value));
    }
  }

  GgufType type_;
  bool is_array_;
  Items items_;
};

/// The metadata of a file, in the order of the file.
class GgufMetadata {
 public:
  struct Entry {
    std::string key;
    GgufValue value;
    std::uint64_t offset = 0;  // byte offset of the key in the file; 0 if it is not from a file
  };

  GgufMetadata() = default;
  /// For readers: `path` appears in messages.
  explicit GgufMetadata(std::string path) : path_(std::move(path)) {}

  const std::vector<Entry>& entries() const { return entries_; }
  bool contains(std::string_view key) const { return index_.find(key) != index_.end(); }
  /// Returns the entry with this key, or null.
  const Entry* find_entry(std::string_view key) const;

  /// Returns a value as T, which is one of
  ///   std::int64_t, double, bool, std::string, or a std::vector of one of these.
  /// double also accepts integers. A vector also accepts a value that is not an array, as its only
  /// element. Throws FormatError, with path, byte offset and key, if there is no such key or if its
  /// value has another type.
  template <class T>
  T get(std::string_view key) const;
  /// As get(), but returns std::nullopt if there is no such key.
  template <class T>
  std::optional<T> find(std::string_view key) const {
    return contains(key) ? std::optional<T>(get<T>(key)) : std::nullopt;
  }
  /// Throws a FormatError with the path, the byte offset of the key, the key and `problem`, as in
  /// "\"m.gguf\" at byte 40: llama.block_count is 0: it must be positive".
  [[noreturn]] void fail(std::string_view key, std::string_view problem) const;

  /// Adds a value, or replaces the value of an existing key.
  GgufMetadata& set(std::string_view key, GgufValue value, std::uint64_t offset = 0);

 private:
  std::string path_;
  std::vector<Entry> entries_;
  std::map<std::string, std::size_t, std::less<>> index_;
};

}  // namespace weft
