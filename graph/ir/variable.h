// Variables: named state that is stored in a VariableStore.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/graph/ir/value.h"

namespace WEFT_API weft {

/// The purpose of a variable. The enumerator values are stored in files and must not change.
enum class VariableKind : std::uint8_t {
  parameter = 1,  // learned weights, trainable or frozen
  optimizer = 2,  // moments, step counters, accumulators
  buffer = 3,     // state that is saved but not learned
  cache = 4,      // not saved; symbolic dims are bound at first use (key/value caches)
  key = 5,        // random key: i64[2] = {seed, runs so far}
};
/// Converts between a kind and its name: "parameter", "optimizer", "buffer", "cache" or "key".
/// Throws ArgumentError for an unknown name.
std::string_view variable_kind_name(VariableKind kind);
VariableKind parse_variable_kind(std::string_view name);

/// The initial value of a variable. Random values depend only on the session's seed and the
/// variable's name.
struct Initializer {
  /// The enumerator values are part of the file format.
  enum class Kind : std::uint8_t {
    constant = 1,          // every element `a`
    normal = 2,            // mean a, standard deviation b
    uniform = 3,           // in [a, b)
    truncated_normal = 4,  // normal(a, b), resampled if beyond two standard deviations
    key = 5,               // a random key derived from the seed and the name
  };
  Kind kind = Kind::constant;
  double a = 0, b = 0;

  /// Sets all elements to 0, 1 or `value`.
  static Initializer zeros() { return {Kind::constant, 0, 0}; }
  static Initializer ones() { return {Kind::constant, 1, 0}; }
  static Initializer constant(double value) { return {Kind::constant, value, 0}; }
  /// Normal distribution. truncated_normal() resamples values beyond two standard deviations.
  static Initializer normal(double std, double mean = 0) { return {Kind::normal, mean, std}; }
  static Initializer truncated_normal(double std, double mean = 0) {
    return {Kind::truncated_normal, mean, std};
  }
  /// Uniform in [low, high).
  static Initializer uniform(double low, double high) { return {Kind::uniform, low, high}; }
  /// Uniform in +-sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010).
  static Initializer glorot_uniform(std::int64_t fan_in, std::int64_t fan_out);
  /// Normal with standard deviation sqrt(2 / fan_in) (He et al. 2015).
  static Initializer he_normal(std::int64_t fan_in);
  friend bool operator==(const Initializer&, const Initializer&) = default;
};

/// The declaration of a variable.
struct VariableInfo {
  std::string name;
  VariableKind kind = VariableKind::parameter;
  bool trainable = true;  // only meaningful for parameters
  ValueType type = {};
  Initializer initializer = {};
  /// Other names of the same variable (tied weights).
  std::vector<std::string> aliases = {};
};

/// A handle to a variable of a graph. Converts to the Value that reads the variable, that is, the
/// value before the updates of the run.
class Variable {
 public:
  Variable() = default;
  explicit Variable(Value read) : read_(read) {}
  bool defined() const { return read_.defined(); }
  Value value() const { return read_; }
  operator Value() const { return read_; }  // NOLINT(google-explicit-constructor)
  const VariableInfo& info() const;
  const std::string& name() const { return info().name; }
  Graph& graph() const { return read_.graph(); }
  DType dtype() const { return read_.dtype(); }
  const Shape& shape() const { return read_.shape(); }
  friend bool operator==(const Variable&, const Variable&) = default;

 private:
  Value read_;
};

}  // namespace weft
