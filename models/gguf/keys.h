// Keys "<architecture>.<name>" in the metadata of GGUF models. KeyReader and KeyWriter have the
// same members, so that one description of the keys is used for both directions:
//
//   const Keys keys = [](auto& keys, GptConfig& c) {
//     keys.required("context_length", c.context).optional("logit_scale", c.logit_multiplier, 1.0);
//   };
//
// Internal to models/gguf.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/families/gpt_config.h"
#include "weft/serialization/gguf/gguf.h"

namespace weft::gguf {

/// Returns a pattern that selects all but the last of every `period` layers, or all for 0.
std::string all_but_last(std::int64_t period, std::int64_t layers);

/// Returns the shortest decimal number that rounds to the same float: metadata stores 1e-5 as a
/// float, which is 9.99999974737875e-06.
double shortest_decimal(double value);

class KeyReader {
 public:
  static constexpr bool kReads = true;
  KeyReader(const GgufFile& file, std::string architecture)
      : file_(file), architecture_(std::move(architecture)) {}

  const GgufFile& file() const { return file_; }
  bool has(std::string_view key) const;
  /// Returns true if the file has this tensor.
  bool has_tensor(std::string_view name) const { return file_.find(name) != nullptr; }

  /// Reads a value. Throws FormatError if the key is missing or has another type, or if an integer
  /// is not in [0, 2^31).
  template <class T>
  KeyReader& required(std::string_view key, T& value) {
    read(key, value);
    return *this;
  }
  /// As required(), but sets `value` to `absent` if there is no such key.
  template <class T>
  KeyReader& optional(std::string_view key, T& value, const T& absent) {
    if (has(key)) {
      read(key, value);
    } else {
      value = absent;
    }
    return *this;
  }
  /// As optional(). A KeyWriter writes the key in any case.
  template <class T>
  KeyReader& with_default(std::string_view key, T& value, const T& absent) {
    return optional(key, value, absent);
  }
  /// Reads a number, or an array with one number per layer. All numbers must be equal.
  KeyReader& per_layer(std::string_view key, std::int64_t& value, std::int64_t absent);
  /// Reads a pattern of layers: the period n of a pattern that selects all but the last of every n
  /// layers (0: all layers), or an array with a bool or number per layer.
  KeyReader& layers(std::string_view key, std::string& pattern, const std::string& absent,
                    std::int64_t layers);
  /// The key must be absent or have this value. Throws FormatError otherwise.
  template <class T>
  KeyReader& fixed(std::string_view key, const T& allowed) {
    T value = allowed;
    optional(key, value, allowed);
    if (value != allowed) unsupported(key);
    return *this;
  }
  /// Accepts keys without an effect.
  KeyReader& ignore(std::initializer_list<std::string_view> keys);
  /// Accepts a key that changes the results of the original model, but that llama.cpp ignores for
  /// this architecture. Adds a note if its value is not 0.
  KeyReader& ignored_by_llama_cpp(std::string_view key);
  /// Throws FormatError: the value of the key is not supported. `why` may be empty.
  [[noreturn]] void unsupported(std::string_view key, std::string_view why = {}) const;

  /// Throws FormatError for the first key of the architecture that was not read.
  void finish() const;
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::string full(std::string_view key) const;
  void check_range(std::string_view key, std::int64_t value) const;
  void read(std::string_view key, std::int64_t& value);
  void read(std::string_view key, double& value);
  void read(std::string_view key, bool& value);
  void read(std::string_view key, std::string& value);

  const GgufFile& file_;
  std::string architecture_;
  std::set<std::string, std::less<>> known_;
  std::vector<std::string> notes_;
};

class KeyWriter {
 public:
  static constexpr bool kReads = false;
  KeyWriter(GgufMetadata& metadata, std::string architecture)
      : metadata_(metadata), architecture_(std::move(architecture)) {}

  bool has(std::string_view) const { return false; }
  /// Writes a value: a u32, an f32, a bool or a string. Throws ArgumentError if an integer is not
  /// in the range of u32.
  template <class T>
  KeyWriter& required(std::string_view key, const T& value) {
    write(key, value);
    return *this;
  }
  /// As required(), unless the value equals `absent`.
  template <class T>
  KeyWriter& optional(std::string_view key, const T& value, const T& absent) {
    if (value != absent) write(key, value);
    return *this;
  }
  template <class T>
  KeyWriter& with_default(std::string_view key, const T& value, const T&) {
    return required(key, value);
  }
  KeyWriter& per_layer(std::string_view key, std::int64_t value, std::int64_t) {
    return required(key, value);
  }
  /// Writes the period of a pattern that is not the default. Writes nothing if it has no period;
  /// the model that is read back then differs.
  KeyWriter& layers(std::string_view key, const std::string& pattern, const std::string& absent,
                    std::int64_t layers);
  template <class T>
  KeyWriter& fixed(std::string_view, const T&) {
    return *this;
  }
  KeyWriter& ignore(std::initializer_list<std::string_view>) { return *this; }
  KeyWriter& ignored_by_llama_cpp(std::string_view) { return *this; }

 private:
  void write(std::string_view key, std::int64_t value);
  void write(std::string_view key, double value);
  void write(std::string_view key, bool value);
  void write(std::string_view key, const std::string& value);
  std::string full(std::string_view key) const;

  GgufMetadata& metadata_;
  std::string architecture_;
};

/// A description of keys for both directions. A writer passes a copy of the config, so that a
/// description may also set fields that are derived from keys.
struct Keys {
  template <class Description>
  Keys(Description description) : read(description), write(description) {}  // NOLINT: implicit

  void (*read)(KeyReader&, GptConfig&);
  void (*write)(KeyWriter&, GptConfig&);
};

}  // namespace weft::gguf
