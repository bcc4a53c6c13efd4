import Crypto
import LayoutEngine
import TextFormats

/// A web page shown over a program, at the size at which it is shown. Programs that show the same page share its
/// pictures.
package struct OverlayPage: Hashable, Sendable {
    var address: PageAddress
    /// Path of the file that holds the page's picture.
    var picture: String
    var width: Int
    var height: Int

    /// Creates the page of an overlay; `nil` for an overlay that is not a page, and for a page without pictures.
    init?(_ overlay: Overlay) {
        guard case .page(let address, let picture?) = overlay.content else { return nil }
        self.address = address
        self.picture = picture
        width = overlay.width
        height = overlay.height
    }

    /// Returns the common beginning of the paths of a page's pictures, to which a size and `.png` are appended.
    ///
    /// - Parameter directory: A directory that mixers can read.
    package static func picture(of address: PageAddress, in directory: String) -> String {
        "\(directory)/page-" + Hexadecimal.text(SHA256.hash(data: Array(address.text.utf8)))
    }
}
