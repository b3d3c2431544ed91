// The structure of a .weft file as text, for tools. Works for files with unknown ops.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weft/ops/op.h"
#include "weft/serialization/checkpoint.h"

namespace WEFT_API weft {

/// A program as declared in a file. Values are written as in SavedFile::nodes.
struct SavedProgram {
  std::string name = {};
  std::vector<std::string> outputs = {};  // "loss = %12"
  std::vector<std::string> updates = {};  // "@w = %30"
};

/// The structure of a file, read without running any shape rules.
struct SavedFile {
  std::string producer = {};
  std::vector<std::string> inputs = {};  // "x: f32[batch, 64]"
  std::vector<SavedVariable> variables = {};
  /// The nodes of the main graph as text:
  ///   "%3 = swish(%x, @w) {beta = 1.5}  // net.block net.cc:12"
  /// Types are not included, because files do not store them: shape rules infer them.
  std::vector<std::string> nodes = {};
  std::vector<SavedProgram> programs = {};
  /// Ops that are not in `ops`: "swish version 1".
  std::vector<std::string> unknown_ops = {};
};

/// Reads the structure of a file and verifies all checksums, including the checksums of variable
/// values. Throws FormatError and IoError under the same conditions as load_checkpoint() with
/// LoadOptions::verify.
SavedFile read_saved_file(const std::string& path,
                          const std::shared_ptr<const OpSet>& ops = builtin_ops());

}  // namespace weft
