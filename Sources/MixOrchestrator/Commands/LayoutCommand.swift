import ArgumentParser
import Foundation
import LayoutEngine

struct LayoutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "layout", abstract: "Checks layouts and shows what they do.",
        subcommands: [LayoutValidateCommand.self, LayoutPreviewCommand.self, LayoutGalleryCommand.self])
}

/// A layout's file as somebody named it on the command line.
struct LayoutArgument {
    let path: String
    let template: LayoutTemplate

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

    /// Where its images are.
    private var images: ImageFiles {
        ImageFiles(directory: URL(fileURLWithPath: path).deletingLastPathComponent().path)
    }

    /// A file that the service would leave alone.
    var nameWarnings: [String] {
        LayoutFiles.layout(ofFile: URL(fileURLWithPath: path).lastPathComponent) == nil
            ? ["\(path): no room can use it: a layout is called \(LayoutFiles.nameRule), with .json behind it"] : []
    }

    /// What is wrong with its images that are files, one line each. Those of other machines are left for the service.
    var imageWarnings: [String] {
        localImages.compactMap { image in
            do throws(ImageRefusal) {
                _ = try images.read(image)
                return nil
            } catch {
                return "\(path): image \(image) \(error): the fallback is shown instead"
            }
        }
    }

    /// Its images that are files, for a picture that needs nothing else.
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
