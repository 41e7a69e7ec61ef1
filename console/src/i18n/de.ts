const de: Readonly<Record<string, string>> = {}
export default de
