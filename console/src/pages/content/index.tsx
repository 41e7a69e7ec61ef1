export { default } from '../missing'
