// Exceptions that carry what Python needs, and the text of one: "where: what (got, want)".
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace fl {

// A file could not be read. `code` is errno, or 0 where the system gave none (a file that ends too
// early). bind/module.cpp makes an OSError of it, of the class that belongs to the errno.
struct FileError : std::runtime_error {
  FileError(int code, std::string path, std::string why)
      : std::runtime_error(path + ": " + why),
        code(code),
        path(std::move(path)),
        why(std::move(why)) {}

  int code;
  std::string path, why;
};

// The index that says where a sample lies in its file is at fault, and that file is not.
struct IndexError : FileError {
  using FileError::FileError;
};

// The caller gave something that cannot work; becomes ValueError. The parts become one line,
// "where: what (got …, want …)", which is how every error of fastload reads.
[[noreturn]] inline void refuse(const std::string& where, const std::string& what,
                                const std::string& got, const std::string& want) {
  throw std::invalid_argument(where + ": " + what + " (got " + got + ", want " + want + ")");
}

// Names what an error is about, or an entry of it: a sample of a batch, a row of a program. The
// text is made for an error only, since a string for every sample takes time that small images
// feel.
class Where {
 public:
  // Implicit: names stand where a Where is asked for, and the other way round
  Where(const char* name) : name_(name) {}
  Where(const std::string& name) : name_(name) {}
  Where(const Where& list, int64_t entry) : list_(&list), entry_(entry) {}
  operator std::string() const {
    return list_ == nullptr ? std::string(name_)
                            : std::string(*list_) + "[" + std::to_string(entry_) + "]";
  }

 private:
  std::string_view name_;
  const Where* list_ = nullptr;
  int64_t entry_ = 0;
};

}  // namespace fl
