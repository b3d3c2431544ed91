// Variables: named state that lives in a VariableStore.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/graph/ir/value.h"

namespace WEFT_API weft {

/// What a variable is for. Stored in files: never renumber.
enum class VariableKind : std::uint8_t {
  parameter = 1,  // learnt weights, trainable or frozen
  optimizer = 2,  // moments, step counters, accumulators
  buffer = 3,     // saved state that is not learnt
  cache = 4,      // not saved; symbolic dims are bound at first use (key/value caches)
  key = 5,        // random key: i64[2] = {seed, runs so far}
};
/// "parameter", "optimizer", "buffer", "cache", "key", and back (ArgumentError for another name).
std::string_view variable_kind_name(VariableKind kind);
VariableKind parse_variable_kind(std::string_view name);

/// How a variable starts. Draws depend on the session's seed and the variable's name only.
struct Initializer {
  /// The numbers are part of the file format.
  enum class Kind : std::uint8_t {
    constant = 1,          // every element `a`
    normal = 2,            // mean a, standard deviation b
    uniform = 3,           // in [a, b)
    truncated_normal = 4,  // normal(a, b), redrawn outside two standard deviations
    key = 5,               // a random key made from seed and name
  };
  Kind kind = Kind::constant;
  double a = 0, b = 0;

  /// All elements 0, 1 or `value`.
  static Initializer zeros() { return {Kind::constant, 0, 0}; }
  static Initializer ones() { return {Kind::constant, 1, 0}; }
  static Initializer constant(double value) { return {Kind::constant, value, 0}; }
  /// Normal; truncated: drawn again outside of two standard deviations.
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

/// What a Graph knows of a variable.
struct VariableInfo {
  std::string name;
  VariableKind kind = VariableKind::parameter;
  bool trainable = true;  // meaningful for parameters
  ValueType type = {};
  Initializer initializer = {};
  /// Other names of the same variable (tied weights).
  std::vector<std::string> aliases = {};
};

/// Handle of a variable of a graph. Converts to the Value that reads it (its value before the
/// updates of this run).
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
