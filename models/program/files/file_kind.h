// Types of output files.
#pragma once

#include <cstdint>
#include <string>

namespace weft::program {

/// Types of output files. An existing file is replaced only by a file of the same type.
enum class FileKind : std::uint8_t {
  model,      // .weft, trainable or not
  inference,  // .weft that cannot be trained; replaces a trainable one only with --force
  plot,       // .svg, as drawn by Weft
  tensors,    // .safetensors
  array,      // .npy
  arrays,     // .npz
  adapters,   // .safetensors, as written by save_lora()
  log,        // .jsonl, as written by LogFile
  tokenizer,  // tokenizer.json
  tokens,     // .tok, as written by weft data
  folder,     // a model in Hugging Face layout; only for plan_folder()
  gguf,       // a decoder in a GGUF file
  onnx,       // a program in an ONNX file
  trace,      // .json, as written by TraceFile
  report,     // .json, as written by weft quantize --report
  vectors,    // word embeddings in word2vec's text or binary format, with any other extension
};

/// Returns true for .weft files.
bool is_model(FileKind kind);

/// Returns the description of an existing file that must not be replaced by a file of type `kind`:
/// "is not a .weft file", "is a shard of a checkpoint". Returns "" if it may be replaced. A part of
/// something larger (a shard, the weights of a model folder) is never of the same type as a file
/// that is complete by itself. An empty file may be replaced, because this destroys no data.
std::string reason_to_keep(const std::string& path, FileKind kind);

/// Checks that the extension of a new file fits its contents. For example, a model must not have
/// the extension of a plot or of data. `what` is the option. Throws UsageError.
void check_name(const std::string& what, const std::string& path, FileKind kind);

}  // namespace weft::program
