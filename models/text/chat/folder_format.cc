// Reads the chat format of a Hugging Face model folder.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/text/chat/chat_format.h"
#include "weft/models/text/tokenizers/base/special_ids.h"
#include "weft/models/text/tokenizers/formats/folder_settings.h"
#include "weft/serialization/files/strict_json.h"

namespace weft {
namespace {

struct NamedTemplate {
  std::string name, source;
};

/// The value of "chat_template", which is a string or a list of named templates.
struct TemplateField {
  std::vector<NamedTemplate> templates;
};

}  // namespace

template <>
struct JsonForm<NamedTemplate> {
  static void read(const nlohmann::json& json, const std::string& where, NamedTemplate& value) {
    FieldReader fields(json, where);
    fields.required("name", value.name);
    fields.required("template", value.source);
  }
};

template <>
struct JsonForm<TemplateField> {
  static void read(const nlohmann::json& json, const std::string& where, TemplateField& value) {
    if (json.is_array()) {
      JsonForm<std::vector<NamedTemplate>>::read(json, where, value.templates);
    } else {
      JsonForm<std::string>::read(
          json, where, value.templates.emplace_back(NamedTemplate{"default", ""}).source);
    }
  }
};

namespace {

constexpr const char* kTextFile = "chat_template.jinja";
constexpr const char* kJsonFile = "chat_template.json";
constexpr const char* kFurther = "additional_chat_templates";

/// A template and the name of the file that contains it.
struct FoundTemplate {
  std::string source, file;
};

std::optional<std::string> named(const TemplateField& field, std::string_view name) {
  for (const NamedTemplate& candidate : field.templates) {
    if (candidate.name == name) return candidate.source;
  }
  return std::nullopt;
}

bool is_file_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
}

std::optional<FoundTemplate> find_template(const std::string& folder,
                                           const FolderSettings& settings, std::string_view name) {
  const auto exists = [&](const std::string& file) {
    return std::filesystem::exists(std::filesystem::path(folder) / file);
  };
  const std::string text_file =
      name == "default" ? std::string(kTextFile) : fmt::format("{}/{}.jinja", kFurther, name);
  if (is_file_name(name) && exists(text_file))
    return FoundTemplate{settings.read(text_file.c_str()), text_file};
  if (const auto field = settings.value<TemplateField>("chat_template")) {
    if (auto source = named(*field, name))
      return FoundTemplate{*std::move(source), "tokenizer_config.json"};
  }
  if (exists(kJsonFile)) {
    std::optional<TemplateField> field;
    FieldReader(parse_json_object(settings.read(kJsonFile), kJsonFile), kJsonFile)
        .optional("chat_template", field);
    if (field) {
      if (auto source = named(*field, name)) return FoundTemplate{*std::move(source), kJsonFile};
    }
  }
  return std::nullopt;
}

}  // namespace

FolderChatFormat read_chat_format(const ModelPath& from, std::string_view name) {
  const std::string& folder = from.path;
  FolderChatFormat result;
  try {
    const FolderSettings settings(from);
    const auto found = find_template(folder, settings, name);
    if (!found) {
      result.missing = name == "default"
                           ? fmt::format("{}: the tokenizer has no chat template", folder)
                           : fmt::format("{}: there is no chat template '{}'", folder, name);
      return result;
    }
    SpecialTexts specials;
    for (const SpecialIdName& special : kSpecialIds) {
      const std::string key = fmt::format("{}_token", special.name);
      if (auto text = settings.token(key)) specials.emplace(key, *std::move(text));
    }
    try {
      result.format = ChatFormat::from_template(found->source, std::move(specials));
    } catch (const FormatError& e) {
      throw FormatError(fmt::format("{}: {}", found->file, e.what()));
    }
  } catch (const FormatError& e) {
    result.missing = fmt::format("{}: {}", folder, e.what());
  }
  return result;
}

}  // namespace weft
