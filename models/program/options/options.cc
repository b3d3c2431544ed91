#include "weft/models/program/options/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/models/fields/model_path.h"
#include "weft/models/program/options/generate_arguments.h"
#include "weft/models/program/terminal/usage_error.h"

namespace weft::program {
namespace {

constexpr int kManyValues = 1'000'000;

}  // namespace

AddedOption AddedOption::required() const { return AddedOption(option_->required()); }
AddedOption AddedOption::needs(const AddedOption& other) const {
  return AddedOption(option_->needs(other.option_));
}
AddedOption AddedOption::group(const std::string& title) const {
  return AddedOption(option_->group(title));
}
bool AddedOption::given() const { return option_->count() > 0; }
std::string AddedOption::name() const { return option_->get_name(); }

std::vector<GivenOption> given_options(const CLI::App& command) {
  std::vector<GivenOption> given;
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() > 0)
      given.push_back({option->get_name(), option->get_type_name(), option->results()});
  }
  return given;
}

OptionList::OptionList(CLI::App& parent, const std::string& name, const std::string& about)
    : command_(*parent.add_subcommand(name, about)) {}

void OptionList::needs_command() { command_.require_subcommand(1); }

void OptionList::then(std::function<void()> use) { command_.callback(std::move(use)); }

void OptionList::run(Action& action, Action what) {
  then([&action, what = std::move(what)] { action = what; });
}

std::string OptionList::label(const std::string& name) { return name.substr(0, name.find(',')); }

std::string OptionList::integer_type(const Range& range) {
  return fmt::format("{}[{}, {}]", kIntegerType, range.low, range.high);
}

std::string OptionList::number_type(const RealRange& range) {
  const RealRange any;
  if (range.low == any.low && range.high == any.high) return kNumberType;
  return fmt::format("{}{}{}, {}{}", kNumberType, range.open_low ? '(' : '[', range.low,
                     range.high == any.high ? "" : fmt::format("{}", range.high),
                     range.open_high || range.high == any.high ? ')' : ']');
}

AddedOption OptionList::add(const std::string& name, const std::string& type, Times times,
                            const std::string& help, std::function<void(const std::string&)> use) {
  const std::string what = label(name);
  CLI::Option* option = command_.add_option(
      name,
      [what, use = std::move(use)](const CLI::results_t& values) {
        for (const std::string& value : values) {
          if (value.empty()) {
            throw UsageError(fmt::format(
                "{} is empty: leave it out, or give it a value (an unset shell variable?)", what));
          }
          try {
            use(value);
          } catch (const ArgumentError& e) {
            throw UsageError(e.what());
          }
        }
        return true;
      },
      help);
  option->type_name(type);
  option->type_size(1);
  switch (times) {
    case Times::once: option->expected(1); break;
    case Times::repeated: option->expected(1)->take_all(); break;
    case Times::list: option->expected(1, kManyValues)->take_all()->allow_extra_args(); break;
  }
  return AddedOption(option);
}

AddedOption OptionList::input(const std::string& name, std::string& to, const std::string& help) {
  return add(name, kInputType, Times::once, help, [&to](const std::string& path) { to = path; });
}

AddedOption OptionList::input(const std::string& name, ModelPath& to, const std::string& help) {
  const AddedOption model = input(name, to.path, help);
  texts(
      "--ignore-config-key", to.ignored_keys, Times::repeated,
      "for a Hugging Face folder: ignore this key in all its JSON files (KEY, or OBJECT.KEY); for "
      "a GGUF file: ignore this key of its metadata; may be repeated. For keys that are rejected "
      "although they do not change the results")
      .needs(model);
  flag("--verify", to.verify,
       "verify every byte of the model; by default, a .weft file that was verified before and has "
       "not changed is not verified again, and weights of a folder above 256 MiB are not searched "
       "for NaN");
  return model;
}

AddedOption OptionList::inputs(const std::string& name, std::vector<std::string>& to,
                               const std::string& help) {
  return texts(name, to, Times::list, help, kInputType);
}

AddedOption OptionList::output(const std::string& name, std::string& to, const std::string& help) {
  return add_path(name, kOutputType, to, help);
}

AddedOption OptionList::output_folder(const std::string& name, std::string& to,
                                      const std::string& help) {
  return add_path(name, kFolderType, to, help);
}

AddedOption OptionList::add_path(const std::string& name, const char* type, std::string& to,
                                 const std::string& help) {
  return add(name, type, Times::once, help, [&to, name](const std::string& path) {
    if (path.starts_with("--")) {
      throw ArgumentError(
          fmt::format("{} is followed by {}, which looks like an option (for a file with this "
                      "name, write ./{})",
                      label(name), excerpt(path), excerpt(path)));
    }
    to = path;
  });
}

AddedOption OptionList::text(const std::string& name, std::string& to, const std::string& help) {
  return add(name, kTextType, Times::once, help, [&to](const std::string& value) { to = value; });
}

AddedOption OptionList::text(const std::string& name, std::optional<std::string>& to,
                             const std::string& help) {
  return add(name, kTextType, Times::once, help, [&to](const std::string& value) { to = value; });
}

AddedOption OptionList::texts(const std::string& name, std::vector<std::string>& to, Times times,
                              const std::string& help, const char* type) {
  return add(name, type, times, help, [&to](const std::string& value) { to.push_back(value); });
}

AddedOption OptionList::ids(const std::string& name, std::string& to, const std::string& help) {
  return add(name, kIdsType, Times::once, help, [&to, name](const std::string& value) {
    parse_ids(label(name), value);
    to = value;
  });
}

AddedOption OptionList::ids(const std::string& name, std::vector<std::string>& to,
                            const std::string& help) {
  return add(name, kIdsType, Times::repeated, help, [&to, name](const std::string& value) {
    parse_ids(label(name), value);
    to.push_back(value);
  });
}

AddedOption OptionList::bytes(const std::string& name, std::size_t& to, const std::string& help) {
  return add(name, kBytesType, Times::once, help, [&to, name](const std::string& value) {
    to = parse_bytes(label(name), value);
    // 0 means that no limit was given.
    if (to == 0) throw ArgumentError(fmt::format("{} must be at least one byte", label(name)));
  });
}

AddedOption OptionList::choice(const std::string& name, const std::vector<std::string>& legal,
                               std::function<void(const std::string&)> use,
                               const std::string& help) {
  return add(name, fmt::format("{}{{{}}}", kChoiceType, fmt::join(legal, "|")), Times::once, help,
             [name, legal, use = std::move(use)](const std::string& value) {
               if (std::find(legal.begin(), legal.end(), value) == legal.end()) {
                 throw ArgumentError(fmt::format("{}: {} is not one of {{{}}}", label(name),
                                                 excerpt(value), fmt::join(legal, ",")));
               }
               use(value);
             });
}

AddedOption OptionList::choice(const std::string& name, const std::vector<std::string>& legal,
                               std::string& to, const std::string& help) {
  return choice(
      name, legal, [&to](const std::string& value) { to = value; }, help);
}

AddedOption OptionList::flag(const std::string& name, bool& to, const std::string& help) {
  return AddedOption(command_.add_flag(name, to, help));
}

AddedOption OptionList::switches(const std::string& name, std::function<void(bool)> use,
                                 const std::string& help) {
  return AddedOption(command_.add_flag_function(
      name + ",!--no-" + name.substr(2),
      [use = std::move(use)](std::int64_t count) { use(count > 0); }, help));
}

AddedOption OptionList::threads(int& to) {
  return integer("--threads", to, {0, 1024},
                 "number of threads; 0 = all hardware threads; does not change the results");
}

void OptionList::execution(Execution& to) {
  threads(to.threads);
  flag("--batch-invariant", to.batch_invariant,
       "give each text the same result in every batch, with and without padding and caches "
       "(somewhat slower)");
}

}  // namespace weft::program
