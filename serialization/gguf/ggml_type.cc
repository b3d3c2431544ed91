#include "weft/serialization/gguf/ggml_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "weft/core/closest.h"
#include "weft/core/error.h"

namespace weft {
namespace {

struct Encoding {
  GgmlType type;
  std::int64_t elements, bytes;  // of a block
  DType widened;
};

constexpr Encoding kEncodings[] = {
    {GgmlType::f32, 1, 4, DType::f32},      {GgmlType::f16, 1, 2, DType::f16},
    {GgmlType::bf16, 1, 2, DType::bf16},    {GgmlType::q8_0, 32, 34, DType::f32},
    {GgmlType::q4_0, 32, 18, DType::f32},   {GgmlType::q4_1, 32, 20, DType::f32},
    {GgmlType::q5_0, 32, 22, DType::f32},   {GgmlType::q5_1, 32, 24, DType::f32},
    {GgmlType::q4_k, 256, 144, DType::f32}, {GgmlType::q5_k, 256, 176, DType::f32},
    {GgmlType::q6_k, 256, 210, DType::f32}, {GgmlType::mxfp4, 32, 17, DType::bf16},
};

// The names of all encodings in the order of their numbers.
constexpr std::array<std::string_view, 41> kNames = {
    "F32",   "F16",        "Q4_0",       "Q4_1",       "Q4_2",     "Q4_3",     "Q5_0",
    "Q5_1",  "Q8_0",       "Q8_1",       "Q2_K",       "Q3_K",     "Q4_K",     "Q5_K",
    "Q6_K",  "Q8_K",       "IQ2_XXS",    "IQ2_XS",     "IQ3_XXS",  "IQ1_S",    "IQ4_NL",
    "IQ3_S", "IQ2_S",      "IQ4_XS",     "I8",         "I16",      "I32",      "I64",
    "F64",   "IQ1_M",      "BF16",       "Q4_0_4_4",   "Q4_0_4_8", "Q4_0_8_8", "TQ1_0",
    "TQ2_0", "IQ4_NL_4_4", "IQ4_NL_4_8", "IQ4_NL_8_8", "MXFP4",    "NVFP4"};

const Encoding& encoding(GgmlType type) {
  return *std::find_if(std::begin(kEncodings), std::end(kEncodings),
                       [&](const Encoding& e) { return e.type == type; });
}

std::vector<std::string> readable_names() {
  std::vector<std::string> names;
  for (const Encoding& e : kEncodings) names.emplace_back(ggml_type_name(e.type));
  return names;
}

}  // namespace

std::string_view ggml_type_name(GgmlType type) { return kNames[static_cast<std::size_t>(type)]; }

std::string ggml_type_name(std::uint32_t number) {
  return number < kNames.size() ? std::string(kNames[number]) : std::to_string(number);
}

GgmlType parse_ggml_type(std::string_view name) {
  std::string upper(name);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  for (const Encoding& e : kEncodings) {
    if (ggml_type_name(e.type) == upper) return e.type;
  }
  throw ArgumentError(unknown_name("GGUF tensor type", name, readable_names()));
}

bool is_readable_ggml_type(std::uint32_t number) {
  return std::any_of(std::begin(kEncodings), std::end(kEncodings), [&](const Encoding& e) {
    return static_cast<std::uint32_t>(e.type) == number;
  });
}

std::string readable_ggml_types() { return fmt::format("{}", fmt::join(readable_names(), ", ")); }

std::int64_t ggml_block_elements(GgmlType type) { return encoding(type).elements; }
std::int64_t ggml_block_bytes(GgmlType type) { return encoding(type).bytes; }
DType ggml_widened_dtype(GgmlType type) { return encoding(type).widened; }

}  // namespace weft
