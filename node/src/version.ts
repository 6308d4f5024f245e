/** What `/version`, the banner and `cairn --version` say. */
export const VERSION = '0.1.0'
