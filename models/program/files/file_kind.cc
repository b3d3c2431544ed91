#include "weft/models/program/files/file_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>

#include "weft/core/error.h"
#include "weft/models/gguf/model.h"
#include "weft/models/program/terminal/usage_error.h"
#include "weft/models/text/tokens/token_set.h"
#include "weft/models/training/lora_file.h"
#include "weft/models/vectors/word2vec_file.h"
#include "weft/serialization/checkpoint.h"
#include "weft/serialization/files/read_file.h"
#include "weft/serialization/npy.h"
#include "weft/serialization/onnx/onnx.h"
#include "weft/serialization/shard_names.h"
#include "weft/serialization/stale_shards.h"

namespace weft::program {
namespace {

namespace fs = std::filesystem;

/// Returns true if the bytes begin like the output of svg_line_plot() or svg_heat_maps().
bool is_our_plot(const std::string& bytes) {
  return bytes.starts_with(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 )") &&
         bytes.find(R"(font-family="system-ui, sans-serif" font-size=")") != std::string::npos;
}

/// Returns true if the bytes begin like a tokenizer.json written by Hugging Face's library or Weft.
bool is_tokenizer(const std::string& bytes) {
  return bytes.starts_with('{') && bytes.find("\"version\"") < bytes.find("\"truncation\"") &&
         bytes.find("\"truncation\"") != std::string::npos;
}

/// Returns true if the file begins with an 8-byte length that does not exceed the file size,
/// followed by a JSON object.
bool is_safetensors(const std::string& path, const std::string& bytes) {
  constexpr std::size_t kLengthBytes = 8;
  if (bytes.size() <= kLengthBytes || bytes[kLengthBytes] != '{') return false;
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  return !error && length <= size - kLengthBytes;
}

bool holds_adapters(const std::string& path) {
  try {
    load_lora(path);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Returns true if the existing file is of type `kind`.
bool is_of_kind(const std::string& path, FileKind kind) {
  const std::string bytes = first_bytes(path, 512);
  switch (kind) {
    case FileKind::model:
    case FileKind::inference: return is_weft_file(path);
    case FileKind::plot: return is_our_plot(bytes);
    case FileKind::tensors: return is_safetensors(path, bytes) && !holds_adapters(path);
    case FileKind::array: return bytes.starts_with(kNpyMagic);
    case FileKind::arrays: return is_npz(path);
    case FileKind::adapters: return is_safetensors(path, bytes) && holds_adapters(path);
    case FileKind::log: return bytes.starts_with(R"({"event":"start","task":)");
    case FileKind::tokenizer: return is_tokenizer(bytes);
    case FileKind::tokens: return is_token_file(path);
    case FileKind::folder: return false;
    case FileKind::gguf: return gguf::is_gguf(path);
    case FileKind::onnx: return is_onnx_file(path);
    case FileKind::trace: return bytes.starts_with(R"({"displayTimeUnit":"ms","traceEvents":[)");
    case FileKind::report: return bytes.starts_with("{\n  \"report\": \"quantization\"");
    case FileKind::vectors: return is_word_vectors(path);
  }
  return false;
}

const char* kind_name(FileKind kind) {
  switch (kind) {
    case FileKind::model:
    case FileKind::inference: return "a .weft file";
    case FileKind::plot: return "a plot drawn by weft";
    case FileKind::tensors: return "a safetensors file without adapters";
    case FileKind::array: return "a NumPy array";
    case FileKind::arrays: return "a NumPy archive";
    case FileKind::adapters: return "an adapter file";
    case FileKind::log: return "a training log";
    case FileKind::tokenizer: return "a tokenizer.json";
    case FileKind::tokens: return "a token file";
    case FileKind::folder: return "a folder";
    case FileKind::gguf: return "a GGUF file";
    case FileKind::onnx: return "an ONNX file";
    case FileKind::trace: return "a timeline written by weft";
    case FileKind::report: return "a report on quantised matrices";
    case FileKind::vectors: return "a file of word embeddings";
  }
  return "";
}

/// Returns true if the name has the form of a shard of a model folder, such as
/// "model-00001-of-00003.safetensors".
bool has_shard_name(const fs::path& path) {
  return path.extension() == ".safetensors" &&
         parse_shard_name(path.filename().replace_extension(".weft").string()).has_value();
}

/// Returns the larger thing that the existing file is a part of, or "".
std::string whole_of(const std::string& path, FileKind kind) {
  if (is_model(kind)) return is_shard(path) ? "is a shard of a checkpoint" : "";
  if (kind != FileKind::tensors) return "";
  // Links lead to the folder to which the weights belong.
  std::error_code error;
  for (const fs::path& at : {fs::path(path), fs::canonical(path, error)}) {
    if (at.empty()) continue;
    if (has_shard_name(at)) return "is a shard of the weights of a model";
    const fs::path folder = at.has_parent_path() ? at.parent_path() : fs::path(".");
    if (at.filename().string().starts_with("model.") && fs::exists(folder / "config.json", error))
      return "contains the weights of a model folder";
  }
  return "";
}

}  // namespace

bool is_model(FileKind kind) { return kind == FileKind::model || kind == FileKind::inference; }

std::string reason_to_keep(const std::string& path, FileKind kind) {
  std::error_code error;
  if (fs::file_size(path, error) == 0 && !error) return "";
  if (!is_of_kind(path, kind)) return fmt::format("is not {}", kind_name(kind));
  return whole_of(path, kind);
}

void check_name(const std::string& what, const std::string& path, FileKind kind) {
  const std::string ending = fs::path(path).extension().string();
  constexpr std::array<std::string_view, 10> kEndings = {
      ".weft", ".svg", ".safetensors", ".json", ".jsonl", ".tok", ".npy", ".npz", ".gguf", ".onnx"};
  const std::string_view own = is_model(kind)                ? ".weft"
                               : kind == FileKind::plot      ? ".svg"
                               : kind == FileKind::log       ? ".jsonl"
                               : kind == FileKind::tokens    ? ".tok"
                               : kind == FileKind::array     ? ".npy"
                               : kind == FileKind::arrays    ? ".npz"
                               : kind == FileKind::tokenizer ? ".json"
                               : kind == FileKind::trace     ? ".json"
                               : kind == FileKind::report    ? ".json"
                               : kind == FileKind::folder    ? "/"
                               : kind == FileKind::gguf      ? ".gguf"
                               : kind == FileKind::onnx      ? ".onnx"
                               : kind == FileKind::vectors   ? ""
                                                             : ".safetensors";
  if (ending != own && std::find(kEndings.begin(), kEndings.end(), ending) != kEndings.end()) {
    throw UsageError(fmt::format("{} {} is {}: its name should not end in {}", what, path,
                                 kind_name(kind), ending));
  }
}

}  // namespace weft::program
