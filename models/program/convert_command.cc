// weft convert: a folder of Hugging Face's library as one .weft file.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "weft/core/error.h"
#include "weft/models/hf/published.h"
#include "weft/models/program/commands.h"
#include "weft/models/program/console.h"
#include "weft/models/program/options.h"
#include "weft/models/program/paths.h"
#include "weft/models/tasks/tasks.h"

namespace weft::program {
namespace {

struct ConvertArguments {
  std::string folder, out;
  bool force = false;
};

int run(const ConvertArguments& args, CommandPaths paths) {
  const OutputFile out = paths.writes("--out", args.out, FileKind::model);
  if (!std::filesystem::is_directory(args.folder))
    throw UsageError(fmt::format("{} is no folder of Hugging Face's library", args.folder));
  const auto [task, model] = load_any_model(args.folder);
  model->check();  // a folder without a tokenizer is for ids alone
  save_model(out.path(), *model);
  const auto parameters = static_cast<double>(hf::count_parameters(*model->graph));
  say("{}: a {} of {} parameters, {}\n", args.out, model->layout().kind, short_number(parameters),
      short_bytes(static_cast<double>(std::filesystem::file_size(args.out))));
  return 0;
}

}  // namespace

void add_convert_command(CLI::App& app, Action& action) {
  OptionList options(app, "convert", "Make one .weft file of a Hugging Face folder");
  const auto args = std::make_shared<ConvertArguments>();
  options.input("folder", args->folder, "config.json, model.safetensors and a tokenizer")
      .required();
  options
      .output("--out", args->out,
              "file to write (.weft): the commands that take the folder take it as well; it is not "
              "trainable (--from FOLDER trains)")
      .required();
  options.flag("--force", args->force, "replace a file of another kind of this name");
  options.run(action, [args, &parsed = options.command()] {
    return run(*args, CommandPaths(parsed, args->force));
  });
}

}  // namespace weft::program
