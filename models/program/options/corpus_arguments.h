// Command-line arguments for text corpora, shared by several commands.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "weft/models/program/options/options.h"
#include "weft/models/text/corpus/corpus_files.h"

namespace weft::program {

struct CorpusArguments {
  std::vector<std::string> paths;
  std::optional<CorpusFormat> format;
  std::optional<DocumentEnd> end;
  std::string field;

  /// Finds the corpus files. Throws the same errors as find_corpus_files(). Throws UsageError if an
  /// option applies to none of the files.
  std::vector<CorpusFile> files() const;
  CorpusOptions options() const;
};

/// Adds "files", --format, --documents and --field. `args` must outlive the options.
void add_corpus(OptionList& options, CorpusArguments& args);

}  // namespace weft::program
