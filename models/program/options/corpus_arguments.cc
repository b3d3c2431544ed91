#include "weft/models/program/options/corpus_arguments.h"
#include "weft/models/program/terminal/usage_error.h"

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
        "--field applies to JSON objects, but none of the files contains any (--format jsonl)");
  if (end && none(CorpusFormat::text))
    throw UsageError("--documents applies to texts, but all of the files contain JSON objects");
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
              "text files (UTF-8) and files with one JSON object per line (.jsonl, .ndjson), plain "
              "or compressed with gzip or zstd; folders of such files")
      .required();
  options.choice(
      "--format", {"text", "jsonl"},
      [&args](const std::string& name) { args.format = parse_choice<CorpusFormat>(name); },
      "format of all files; all files of a folder are then read (default: by file name)");
  options.choice(
      "--documents", {"file", "blank-line", "line"},
      [&args](const std::string& name) { args.end = parse_choice<DocumentEnd>(name); },
      "end of a document in a text file: at the end of the file, before a blank line, or at the "
      "end of every line (default: file)");
  options.text("--field", args.field,
               "field of the JSON objects that contains the text (default: text)");
}

}  // namespace weft::program
