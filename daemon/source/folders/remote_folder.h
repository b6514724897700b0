// Lists an image folder in a remote store: the objects below a prefix, as classes, folders and pictures. It is the same
// data set as a local folder with the same files, with the same order and fingerprint.
//
// A store tells a thousand names at a time. The pages of the listing can be kept: a later listing asks for some of them
// again, and takes all where these are unchanged.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "daemon/source/files/folder.h"
#include "daemon/source/folders/class_walk.h"
#include "daemon/source/kept/kept_file.h"
#include "daemon/source/listing.h"
#include "daemon/store/stores.h"

namespace spdld::source {

// The objects of a store below a prefix, page by page in order of their names.
struct RemotePages {
  struct Page {
    std::string prefix;  // of the class, with which the store was asked
    std::string after;   // the last name of the page before; empty: it is the first one
    std::vector<store::Entry> entries;
    bool is_last = false;  // of its prefix
  };
  std::vector<Page> pages;

  std::string digits() const;  // a fingerprint of all names and identities
  std::string payload() const;
  static RemotePages of_payload(std::string_view payload);  // no pages: it is damaged
};

// How it was listed.
struct RemoteListing {
  std::vector<std::string> classes;  // in order
  std::vector<ClassFiles> files;     // by class
  OtherPictures others = {};         // by their paths below the prefix
  std::string digits;                // as RemotePages::digits()
  // Asks the store whether the same objects are there; set by list_remote().
  std::function<bool()> is_unchanged = {};
};

// The part of the objects below the prefix that is listed.
struct RemoteChoice {
  // The one folder that is listed, as if it were a class; empty: each folder directly below the prefix is a class.
  std::string folder = {};
  // An object without a byte is passed over in silence. Otherwise it is a sample that is lost.
  bool may_be_empty = false;
};

class RemoteFolder {
 public:
  // `prefix`: of all objects; ends in '/', or is empty.
  RemoteFolder(std::shared_ptr<store::Store> store, std::string prefix, const Endings& endings,
               RemoteChoice choice = {})
      : store_(std::move(store)), prefix_(std::move(prefix)), endings_(endings), choice_(std::move(choice)) {}

  // Asks for all pages, of several classes at once. Throws SetupError.
  RemotePages read(const Progress& progress, const std::stop_token& stop) const;
  // Whether some of the pages, the first and the last among them, are still the same, and the folders directly below
  // the prefix are the same (of very many folders, the first eight pages).
  bool is_unchanged(const RemotePages& pages, const std::stop_token& stop) const;
  // Throws SetupError where there is no class or no picture.
  RemoteListing sort_out(const RemotePages& pages) const;

  store::Store& store() const { return *store_; }
  const std::shared_ptr<store::Store>& shared_store() const { return store_; }
  const std::string& prefix() const { return prefix_; }

 private:
  std::vector<std::string> prefixes(const std::stop_token& stop) const;
  bool has_same_folders(const RemotePages& pages, const std::stop_token& stop) const;
  void read_prefix(const std::string& prefix, std::vector<RemotePages::Page>& pages, std::atomic<uint64_t>& found,
                   const std::stop_token& stop) const;

  const std::shared_ptr<store::Store> store_;
  const std::string prefix_;
  const Endings endings_;
  const RemoteChoice choice_;
};

struct RemoteOpening {
  const Progress& progress;
  const std::stop_token& stop;
  const std::filesystem::path& kept;  // empty: all is asked for anew
  KeptUse& use;                       // set
};
// Takes the pages that are kept under `key` where a look at some of them says that all are as they were, and else reads
// and keeps them. Throws SetupError.
RemoteListing list_remote(const std::string& key, const std::shared_ptr<const RemoteFolder>& folder,
                          const RemoteOpening& opening);

}  // namespace spdld::source
