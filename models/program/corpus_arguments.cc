#include "weft/models/program/corpus_arguments.h"

#include <algorithm>

namespace weft::program {

std::vector<CorpusFile> CorpusArguments::files() const {
  std::vector<CorpusFile> found = find_corpus_files(paths, format);
  const auto none = [&](CorpusFormat wanted) {
    return std::none_of(found.begin(), found.end(),
                        [&](const CorpusFile& file) { return file.format == wanted; });
  };
  if (!field.empty() && none(CorpusFormat::jsonl))
    throw UsageError(
        "--field is of JSON objects, and none of the files holds any (--format jsonl)");
  if (end && none(CorpusFormat::text))
    throw UsageError("--documents is for texts, and all of the files hold JSON objects");
  return found;
}

CorpusOptions CorpusArguments::options() const {
  CorpusOptions all;
  if (end) all.end = *end;
  if (!field.empty()) all.field = field;
  return all;
}

void add_corpus(OptionList& options, CorpusArguments& args) {
  options
      .inputs("files", args.paths,
              "text files (UTF-8) and files of JSON objects on lines (.jsonl, .ndjson), plain or "
              "packed by gzip or zstd; folders with such files")
      .required();
  options.choice(
      "--format", {"text", "jsonl"},
      [&args](const std::string& name) { args.format = parse_choice<CorpusFormat>(name); },
      "what all files hold; of a folder then all are taken (default: by their names)");
  options.choice(
      "--documents", {"file", "blank-line", "line"},
      [&args](const std::string& name) { args.end = parse_choice<DocumentEnd>(name); },
      "where a document of a text file ends: with the file, before a blank line, or with every "
      "line (default: file)");
  options.text("--field", args.field,
               "the field of JSON objects that holds the text (default: text)");
}

}  // namespace weft::program
