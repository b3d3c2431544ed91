#include "weft/models/hf/config_writer.h"

namespace weft::hf {

std::string_view library_name(Activation activation) {
  if (activation == Activation::gelu_tanh) return "gelu_new";
  if (activation == Activation::gelu_erf) return "gelu";
  return choice_name(activation);
}

ConfigWriter& ConfigWriter::optional_id(const char* key, std::int64_t value) {
  object_[key] = value < 0 ? json() : json(value);
  return *this;
}

ConfigWriter& ConfigWriter::optional_size(const char* key, std::int64_t value) {
  if (value != 0) object_[key] = value;
  return *this;
}

ConfigWriter& ConfigWriter::size(const char* key, std::int64_t height, std::int64_t width) {
  object_[key] = height == width ? json(height) : json::array({height, width});
  return *this;
}

}  // namespace weft::hf
