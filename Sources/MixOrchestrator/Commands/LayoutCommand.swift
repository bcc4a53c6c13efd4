import ArgumentParser
import Foundation
import LayoutEngine
import RoomService

struct LayoutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "layout", abstract: "Checks and previews layouts.",
        subcommands: [LayoutValidateCommand.self, LayoutPreviewCommand.self, LayoutGalleryCommand.self])
}

/// A layout named on the command line: a file, or the built-in layout.
struct LayoutArgument {
    let path: String
    private(set) var template: LayoutTemplate

    /// The built-in layout, which has no file and no images.
    static let builtIn = LayoutArgument(path: LayoutLibrary.automaticName, template: LayoutLibrary.automatic)

    private init(path: String, template: LayoutTemplate) {
        self.path = path
        self.template = template
    }

    /// Returns the file with another template, such as one with values of its parameters.
    func with(_ template: LayoutTemplate) -> LayoutArgument {
        var copy = self
        copy.template = template
        return copy
    }

    /// - Throws: `LayoutProblem` with all errors.
    init(_ path: String) throws(LayoutProblem) {
        self.path = path
        let name = URL(fileURLWithPath: path).deletingPathExtension().lastPathComponent
        let content: [UInt8]
        do {
            content = try BoundedFile.read(path, limit: LayoutFiles.longestFile)
        } catch {
            throw LayoutProblem(file: path, reason: "\(error)")
        }
        do {
            template = try LayoutTemplate.decode(content, name: name)
        } catch {
            throw LayoutProblem(file: path, error)
        }
    }

    /// Reads the images of the layout, relative to its directory.
    private var images: ImageFiles {
        ImageFiles(directory: URL(fileURLWithPath: path).deletingLastPathComponent().path)
    }

    /// The warning that the service would ignore a file of this name. Empty if the name is valid.
    var nameWarnings: [String] {
        LayoutFiles.layout(ofFile: URL(fileURLWithPath: path).lastPathComponent) == nil
            ? ["\(path): no room can use it: its name must be \(LayoutFiles.nameRule), followed by .json"] : []
    }

    /// Warnings about images that are files, one line each. The service checks images on other machines.
    var imageWarnings: [String] {
        localImages.compactMap { image in
            do throws(FileRefusal) {
                _ = try images.read(image)
                return nil
            } catch {
                return "\(path): image \(image) \(error): the fallback is shown instead"
            }
        }
    }

    /// The images that are files, as data URLs by path, for a picture without external references.
    var imageData: [String: String] {
        var data: [String: String] = [:]
        for image in localImages {
            guard let (bytes, header) = try? images.read(image) else { continue }
            data[image] = "data:image/\(header.kind.rawValue);base64,\(Data(bytes).base64EncodedString())"
        }
        return data
    }

    private var localImages: [String] { template.images.filter { !$0.contains("://") }.sorted() }
}
